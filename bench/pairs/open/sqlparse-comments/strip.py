import sqlparse

sqlparse.format("select 1 /* " + "\r\n" * 22 + " */ from t", strip_comments=True)
