"""A back end with RavenDB's Python client. Reads numbers from its input; for each it stores so
many users, one in a session, and prints their ids, then a dot. Arguments: URL, database."""
import sys

from ravendb import DocumentStore


class User:
    def __init__(self):
        self.Id = None


_, url, database = sys.argv
with DocumentStore(url, database) as store:
    store.initialize()
    print(".", flush=True)
    for line in sys.stdin:
        for _ in range(int(line)):
            with store.open_session() as session:
                user = User()
                session.store(user)
                print(user.Id)
        print(".", flush=True)
