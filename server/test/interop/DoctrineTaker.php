<?php
// A back end with Doctrine. Reads numbers from its input; for each it stores so many orders, prints
// their ids, then a dot. Arguments: host, port, database, "sequence" or "table", and "create" for a
// first process, which makes the schema.
require '/usr/share/php/Doctrine/ORM/autoload.php';

use Doctrine\DBAL\DriverManager;
use Doctrine\DBAL\Id\TableGenerator;
use Doctrine\DBAL\Id\TableGeneratorSchemaVisitor;
use Doctrine\DBAL\Schema\Schema;
use Doctrine\ORM\Configuration;
use Doctrine\ORM\EntityManager;
use Doctrine\ORM\Mapping as ORM;
use Doctrine\ORM\Mapping\Driver\AttributeDriver;
use Doctrine\ORM\Tools\SchemaTool;

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
[, $host, $port, $database, $kind] = $argv;
$isFirst = ($argv[5] ?? '') === 'create';
$connection = DriverManager::getConnection([
    'driver' => 'pdo_pgsql',
    'host' => $host,
    'port' => $port,
    'dbname' => $database,
    'user' => 'postgres',
]);

if ($kind === 'table') {
    if ($isFirst) {
        $schema = new Schema();
        $schema->visit(new TableGeneratorSchemaVisitor('sequences'));
        $orders = $schema->createTable('orders');
        $orders->addColumn('id', 'integer');
        $orders->setPrimaryKey(['id']);
        foreach ($schema->toSql($connection->getDatabasePlatform()) as $statement) {
            $connection->executeStatement($statement);
        }
    }
    $generator = new TableGenerator($connection, 'sequences');
    $store = function (int $count) use ($connection, $generator) {
        for ($i = 0; $i < $count; $i++) {
            $id = $generator->nextValue('orders');
            $connection->insert('orders', ['id' => $id]);
            echo $id, "\n";
        }
    };
} else {
    $configuration = new Configuration();
    $configuration->setMetadataDriverImpl(new AttributeDriver([]));
    $configuration->setProxyDir(sys_get_temp_dir());
    $configuration->setProxyNamespace('Proxies');
    $entities = new EntityManager($connection, $configuration);
    if ($isFirst) {
        (new SchemaTool($entities))->createSchema([$entities->getClassMetadata(Order::class)]);
    }
    $store = function (int $count) use ($entities) {
        for ($i = 1; $i <= $count; $i++) {
            $order = new Order();
            $entities->persist($order);
            echo $order->id, "\n";
            if ($i % 10 === 0 || $i === $count) {
                $entities->flush();
                $entities->clear();
            }
        }
    };
}

echo ".\n";
while (($line = fgets(STDIN)) !== false) {
    $store((int) $line);
    echo ".\n";
}
