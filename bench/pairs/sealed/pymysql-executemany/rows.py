import pymysql

connection = pymysql.connect(host="127.0.0.1", port=18520, user="root", charset="utf8")
cursor = connection.cursor()
cursor.execute("create database pairs")
cursor.execute("create table pairs.t(a int, b varchar(40)) engine=innodb")
rows = [(number, "x" * 20) for number in range(15000)]
cursor.executemany("INSERT INTO pairs.t (a, b) VALUES (%s, %s)", rows)
connection.commit()
