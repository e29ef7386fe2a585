<?php
ini_set("session.save_path", getcwd());
session_id("pairs");
session_start();
if (isset($_GET["close"])) {
    session_write_close();
}
usleep(100000);
echo "done\n";
