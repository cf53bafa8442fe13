<?php
// A back end with Doctrine: it stores orders, and prints their ids.
// Arguments: host, port, database, number of orders, "sequence" or "table".
require '/usr/share/php/Doctrine/ORM/autoload.php';

use Doctrine\DBAL\DriverManager;
use Doctrine\DBAL\Id\TableGenerator;
use Doctrine\ORM\Configuration;
use Doctrine\ORM\EntityManager;
use Doctrine\ORM\Mapping as ORM;
use Doctrine\ORM\Mapping\Driver\AttributeDriver;

#[ORM\Entity]
#[ORM\Table(name: 'orders')]
class Order
{
    #[ORM\Id]
    #[ORM\Column(type: 'integer')]
    #[ORM\GeneratedValue(strategy: 'SEQUENCE')]
    #[ORM\SequenceGenerator(sequenceName: 'order_seq', allocationSize: 10)]
    public ?int $id = null;
}

error_reporting(E_ALL & ~E_DEPRECATED & ~E_USER_DEPRECATED);
[, $host, $port, $database, $count, $kind] = $argv;
$connection = DriverManager::getConnection(['driver' => 'pdo_pgsql', 'host' => $host, 'port' => $port, 'dbname' => $database, 'user' => 'postgres']);

if ($kind === 'table') {
    $generator = new TableGenerator($connection, 'sequences');
    for ($i = 0; $i < $count; $i++) {
        echo $generator->nextValue('orders'), "\n";
    }
    exit;
}

$configuration = new Configuration();
$configuration->setMetadataDriverImpl(new AttributeDriver([]));
$configuration->setProxyDir(sys_get_temp_dir());
$configuration->setProxyNamespace('Proxies');
$entities = new EntityManager($connection, $configuration);
for ($i = 0; $i < $count; $i++) {
    $order = new Order();
    $entities->persist($order);
    if ($i % 10 === 9) {
        $entities->flush();
        $entities->clear();
    }
    echo $order->id, "\n";
}
$entities->flush();
