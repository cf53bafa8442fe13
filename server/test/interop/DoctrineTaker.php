<?php
// A back end with Doctrine. Reads lines from its input. For a number it stores so many orders, and
// prints their ids. After "=" stand ids of orders that a device has made; it prints the ids that
// they get. Then it prints a dot. Arguments: host, port, database; "sequence", "table", or "given"
// for a sequence with the generator below; and "create" for a first process, which makes the
// schema.
require '/usr/share/php/Doctrine/ORM/autoload.php';

use Doctrine\DBAL\DriverManager;
use Doctrine\DBAL\Id\TableGenerator;
use Doctrine\DBAL\Id\TableGeneratorSchemaVisitor;
use Doctrine\DBAL\Schema\Schema;
use Doctrine\ORM\Configuration;
use Doctrine\ORM\EntityManager;
use Doctrine\ORM\EntityManagerInterface;
use Doctrine\ORM\Id\SequenceGenerator;
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

/** Takes an id from the sequence, if the entity has none. */
class GivenOrSequence extends SequenceGenerator
{
    public function __construct()
    {
        parent::__construct('order_seq', 10);
    }

    public function generateId(EntityManagerInterface $em, $entity)
    {
        return $entity->id ?? parent::generateId($em, $entity);
    }
}

#[ORM\Entity]
#[ORM\Table(name: 'orders')]
class GivenOrder
{
    #[ORM\Id]
    #[ORM\Column(type: 'integer')]
    #[ORM\GeneratedValue(strategy: 'CUSTOM')]
    #[ORM\CustomIdGenerator(class: GivenOrSequence::class)]
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
        // It makes the sequence, too.
        (new SchemaTool($entities))->createSchema([$entities->getClassMetadata(Order::class)]);
    }
    $type = $kind === 'given' ? GivenOrder::class : Order::class;
    $persist = function (?int $id) use ($entities, $type) {
        $order = new $type();
        $order->id = $id;
        $entities->persist($order);
        return $order;
    };
    $given = function (array $ids) use ($entities, $persist) {
        foreach ($ids as $id) {
            echo $persist((int) $id)->id, "\n";
        }
        $entities->flush();
        $entities->clear();
    };
    $store = function (int $count) use ($entities, $persist) {
        for ($i = 1; $i <= $count; $i++) {
            $order = $persist(null);
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
    $words = explode(' ', trim($line));
    $words[0] === '=' ? $given(array_slice($words, 1)) : $store((int) $line);
    echo ".\n";
}
