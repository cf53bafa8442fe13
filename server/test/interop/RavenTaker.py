"""A back end with RavenDB's Python client: it stores users, and prints their ids.
Arguments: URL, database, number of users."""
import sys

from ravendb import DocumentStore


class User:
    def __init__(self):
        self.Id = None


_, url, database, count = sys.argv
with DocumentStore(url, database) as store:
    store.initialize()
    for _ in range(int(count)):
        with store.open_session() as session:
            user = User()
            session.store(user)
            print(user.Id)
