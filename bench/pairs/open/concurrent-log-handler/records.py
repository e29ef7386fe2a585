import logging

from concurrent_log_handler import ConcurrentRotatingFileHandler

log = logging.getLogger()
log.addHandler(ConcurrentRotatingFileHandler("records.log", "a", 50 * 1024 * 1024, 3))
log.setLevel(logging.INFO)
for number in range(20000):
    log.info("hello record %d with some text to be long enough", number)
