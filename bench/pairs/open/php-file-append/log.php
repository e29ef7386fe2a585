<?php
$kept = $argc > 1 ? fopen("events.log", "a") : null;
for ($number = 0; $number < 400000; $number++) {
    $line = "event $number happened\n";
    if ($kept) {
        fwrite($kept, $line);
    } else {
        file_put_contents("events.log", $line, FILE_APPEND);
    }
}
