<?php
// Reads 1,000 items from memcached 40 times: one by one, or all with one request.
$cache = new Memcached();
$cache->addServer('127.0.0.1', (int) getenv('PORT'));
$keys = array_map(fn ($n) => "item-$n", range(1, 1000));
$cache->setMulti(array_fill_keys($keys, 'value'));
$found = 0;
for ($round = 0; $round < 40; $round++) {
    if (($argv[1] ?? '') === 'multi') {
        $found += count($cache->getMulti($keys));
    } else {
        foreach ($keys as $key) {
            $found += $cache->get($key) === 'value';
        }
    }
}
exit($found === 40000 ? 0 : 1);
