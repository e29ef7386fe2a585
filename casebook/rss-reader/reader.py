"""A feed reader for several users, who share what is fetched.

    reader.py slow|together|fixed SUBSCRIPTIONS ROUNDS

slow fetches one feed after the other, together all at once, fixed also keeps its connections and asks only for news.
"""

import http.client
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit
from xml.etree import ElementTree

PATIENCE_S = 10


class Feed:
    """What is known of one feed."""

    def __init__(self, url, keeps):
        self.place = urlsplit(url)
        self.keeps = keeps
        self.connection = None
        self.tag = None
        self.items = {}

    def connect(self):
        if self.connection is None:
            self.connection = http.client.HTTPConnection(self.place.netloc, timeout=PATIENCE_S)
        return self.connection

    def fetch(self):
        """The feed's text; None if it is as it was."""
        connection = self.connect()
        headers = {"If-None-Match": self.tag} if self.keeps and self.tag else {}
        connection.request("GET", self.place.path, headers=headers)
        answer = connection.getresponse()
        text = answer.read()
        if not self.keeps:
            connection.close()
            self.connection = None
        if answer.status == 304:
            return None
        if answer.status != 200:
            raise OSError(f"{self.place.netloc}: {answer.status} {answer.reason}")
        self.tag = answer.headers["ETag"]
        return text

    def refresh(self):
        text = self.fetch()
        if text is not None:
            for item in ElementTree.fromstring(text).iter("item"):
                self.items[item.findtext("guid")] = item.findtext("title")


class Reader:
    def __init__(self, manner, subscriptions):
        self.subscriptions = subscriptions
        self.together = manner != "slow"
        urls = sorted({url for urls in subscriptions.values() for url in urls})
        self.feeds = {url: Feed(url, keeps=manner == "fixed") for url in urls}

    def refresh_all(self):
        if not self.together:
            for feed in self.feeds.values():
                feed.refresh()
            return
        with ThreadPoolExecutor(len(self.feeds)) as pool:
            for done in [pool.submit(feed.refresh) for feed in self.feeds.values()]:
                done.result()

    def items_of(self, user):
        return sum(len(self.feeds[url].items) for url in self.subscriptions[user])


def main():
    manner, file, rounds = sys.argv[1:]
    if manner not in ("slow", "together", "fixed"):
        sys.exit(__doc__)
    with open(file, encoding="utf-8") as subscriptions:
        reader = Reader(manner, json.load(subscriptions))
    for _ in range(int(rounds)):
        reader.refresh_all()
    for user in reader.subscriptions:
        print(user, reader.items_of(user))


main()
