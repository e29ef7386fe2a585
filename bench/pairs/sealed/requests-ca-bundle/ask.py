import requests

for _ in range(60):
    requests.get("https://127.0.0.1:18523/").raise_for_status()
