<?php
// Asks four times for a page, with the headers that a browser sends.
$context = stream_context_create(['http' => [
    'protocol_version' => 1.1,
    'header' => ['Accept: */*', 'Connection: ' . $argv[1]],
]]);
for ($n = 0; $n < 4; $n++) {
    $page = file_get_contents("http://127.0.0.1:18575/$n", false, $context);
    if ($page !== "hello\n") {
        exit(1);
    }
}
