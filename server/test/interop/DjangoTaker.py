"""A back end with Django. Reads lines from its input. For a number it stores so many orders, and
prints their ids. After "=" stand ids of orders that a device has made. Then it prints a dot.
Arguments: host, port, database."""

import sys

import django
from django.conf import settings
from django.db import connection, models

host, port, database = sys.argv[1:]
settings.configure(
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "HOST": host,
            "PORT": port,
            "NAME": database,
            "USER": "postgres",
        }
    },
)
django.setup()


class Order(models.Model):
    id = models.BigAutoField(primary_key=True)

    class Meta:
        app_label = "shop"
        db_table = "orders"


with connection.schema_editor() as editor:
    editor.create_model(Order)
print(".", flush=True)
for line in sys.stdin:
    words = line.split()
    if words[0] == "=":
        for id in words[1:]:
            Order.objects.create(id=int(id))
    else:
        for _ in range(int(words[0])):
            print(Order.objects.create().id)
    print(".", flush=True)
