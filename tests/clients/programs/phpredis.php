<?php
// Runs commands through phpredis: see ../programs.py for what it reads and writes.
[, $socket, $mode] = $argv;
$redis = new Redis();
$redis->connect($socket);
if ($mode === 'literal') {
    $redis->setOption(Redis::OPT_REPLY_LITERAL, true);
}

function encode($value)
{
    if (is_string($value)) {
        return bin2hex($value);
    }
    return is_array($value) ? array_map('encode', $value) : $value;
}

while (($line = fgets(STDIN)) !== false) {
    $redis->clearLastError();
    $reply = $redis->rawCommand(...array_map('hex2bin', explode(',', trim($line))));
    // A refused call returns false, as do other calls; only the last error shows the difference.
    $raised = $reply === false && $redis->getLastError() !== null;
    echo json_encode($raised ? ['raised' => $redis->getLastError()] : encode($reply)), "\n";
}
