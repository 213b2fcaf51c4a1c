<?php
// Runs commands through Predis: see ../programs.py for what it reads and writes.
require 'Predis/Autoloader.php';
Predis\Autoloader::register();
$client = new Predis\Client(['scheme' => 'unix', 'path' => $argv[1]]);

function encode($value)
{
    if ($value instanceof Predis\Response\ErrorInterface) {
        return ['error' => $value->getMessage()];
    }
    if ($value instanceof Predis\Response\Status) {
        return bin2hex($value->getPayload());
    }
    if (is_string($value)) {
        return bin2hex($value);
    }
    return is_array($value) ? array_map('encode', $value) : $value;
}

while (($line = fgets(STDIN)) !== false) {
    $raised = false;
    $reply = $client->executeRaw(array_map('hex2bin', explode(',', trim($line))), $raised);
    echo json_encode($raised ? ['raised' => $reply] : encode($reply)), "\n";
}
