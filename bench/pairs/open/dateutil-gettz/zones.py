from dateutil import tz

for _ in range(10000):
    tz.gettz("America/New_York")
