"""A database with a server of its own, and who asks it.

database.py prepare FOLDER: makes one in the folder, as the user whose it is.
database.py lock|scan FOLDER fires|silent
"""
import glob
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import psycopg2

WORKERS = 6
ORDERS = 5
ACQUIRER_S = 0.02
PARCELS = 200_000
SERVER = glob.glob("/usr/lib/postgresql/*/bin")[-1]


class Database:
    """The server, from here to the end of the block."""

    def __init__(self, folder):
        self.folder = folder

    def __enter__(self):
        command = [SERVER + "/postgres", "-D", self.folder + "/data", "-k", self.folder, "-c", "listen_addresses="]
        # Nobody may run a server as root.
        owner = os.stat(self.folder)
        options = dict(user=owner.st_uid, group=owner.st_gid, extra_groups=[]) if os.getuid() == 0 else {}
        self.log = open(self.folder + "/log", "a")
        self.server = subprocess.Popen(command, stderr=self.log, stdout=self.log, **options)
        while True:
            try:
                self.connect().close()
                return self
            except psycopg2.OperationalError:
                time.sleep(0.02)

    def __exit__(self, *_):
        # At once, whoever is connected.
        self.server.send_signal(signal.SIGINT)
        self.server.wait()

    def connect(self):
        return psycopg2.connect(host=self.folder, user="shop", dbname="postgres")


def prepare(folder):
    owner = os.stat(folder)
    make = [SERVER + "/initdb", "-D", folder + "/data", "-U", "shop", "-A", "trust", "--no-sync"]
    subprocess.run(make, check=True, stdout=subprocess.DEVNULL, user=owner.st_uid, group=owner.st_gid, extra_groups=[])
    with Database(folder) as database, database.connect() as connection:
        cursor = connection.cursor()
        cursor.execute("create table accounts (id int primary key, balance int)")
        cursor.execute("insert into accounts values (1, 0)")
        cursor.execute(
            "create table parcels as select n as id, 'TRK' || n as number, n %% 7 as status from generate_series(1, %s) n",
            [PARCELS],
        )
        cursor.execute("create index by_id on parcels (id)")
        cursor.execute("analyze")


def acquirer():
    """Another company's server, which takes its time; a process of its own."""
    server = socket.create_server(("127.0.0.1", 0), backlog=64)
    process = os.fork()
    if process != 0:
        return process, server.getsockname()

    def respond(client):
        while client.recv(100):
            time.sleep(ACQUIRER_S)
            client.sendall(b"done")

    while True:
        threading.Thread(target=respond, args=[server.accept()[0]]).start()


def charge(card):
    card.sendall(b"charge")
    card.recv(100)


def pay_in_one(connection, card):
    """The account's row is locked while the acquirer is waited for."""
    cursor = connection.cursor()
    cursor.execute("select balance from accounts where id = 1 for update")
    charge(card)
    cursor.execute("update accounts set balance = balance + 100 where id = 1")
    connection.commit()


def pay_before(connection, card):
    charge(card)
    cursor = connection.cursor()
    cursor.execute("update accounts set balance = balance + 100 where id = 1")
    connection.commit()


def lock(database, form):
    pay = pay_in_one if form == "fires" else pay_before
    process, address = acquirer()

    def work():
        connection, card = database.connect(), socket.create_connection(address)
        for _ in range(ORDERS):
            pay(connection, card)
        connection.close()

    workers = [threading.Thread(target=work) for _ in range(WORKERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


def status_by_number(cursor, n):
    """There is no index on the number."""
    cursor.execute("select status from parcels where number = %s", [f"TRK{n}"])
    return cursor.fetchone()


def status_by_id(cursor, n):
    cursor.execute("select status from parcels where id = %s", [n])
    return cursor.fetchone()


def scan(database, form):
    status, times = (status_by_number, 60) if form == "fires" else (status_by_id, 6000)
    cursor = database.connect().cursor()
    for n in range(times):
        status(cursor, n * 7919 % PARCELS + 1)


if sys.argv[1] == "prepare":
    prepare(sys.argv[2])
else:
    with Database(sys.argv[2]) as database:
        {"lock": lock, "scan": scan}[sys.argv[1]](database, sys.argv[3])
