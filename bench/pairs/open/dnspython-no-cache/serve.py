"""A name server that answers each question with the same address, valid for an hour, on UDP port $PORT.
The same port listens on TCP, too: that tells that it is ready."""
import os
import socket

import dns.flags
import dns.message
import dns.rrset

address = ("127.0.0.1", int(os.environ["PORT"]))
questions = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
questions.bind(address)
ready = socket.create_server(address)
while True:
    data, asker = questions.recvfrom(4096)
    question = dns.message.from_wire(data)
    answer = dns.message.make_response(question)
    answer.flags |= dns.flags.RA
    answer.answer.append(dns.rrset.from_text(question.question[0].name, 3600, "IN", "A", "192.0.2.1"))
    questions.sendto(answer.to_wire(), asker)
