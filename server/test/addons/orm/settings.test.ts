/** Settings of bound collections: what cannot be meant is refused by its name. */
import { describe, expect, test } from 'vitest'
import { openLedger } from '../../../src/index.js'
import { newFolder } from '../../folders.js'

const databaseUrl = 'postgres://nobody@127.0.0.1:1/none'
const EFCORE = {
  strategy: 'efcore',
  sequence: 'order_seq',
  blockSize: 10,
  maxId: 'int4',
  ids: false,
}
const HILO = {
  strategy: 'nhibernate-hilo-table',
  table: 'hi',
  column: 'next_hi',
  maxLo: 9,
  maxId: 'int4',
  ids: false,
}

const open = (orders: unknown) =>
  openLedger({ create: true, databaseUrl, collections: { Shop: { orders } } as never })

describe('a setting that cannot be meant is refused by its name', () => {
  test.each([
    [{ ...EFCORE, blockSize: 0 }, 'collections.Shop.orders.blockSize: has to be at least 1'],
    [{ ...HILO, maxLo: 0 }, 'collections.Shop.orders.maxLo: has to be at least 1'],
    [
      { ...EFCORE, blockSize: undefined },
      'collections.Shop.orders.blockSize: is missing: how many ids efcore makes of one value',
    ],
    [
      { ...EFCORE, maxLo: 9 },
      'collections.Shop.orders.maxLo: is no setting of efcore, which has: strategy, maxId, ' +
        'ids, sentinels, proved, sequence, blockSize',
    ],
    [
      { ...EFCORE, sequence: '"quoted"' },
      'collections.Shop.orders.sequence: has to be a name like order_seq',
    ],
    [
      { ...EFCORE, maxId: undefined },
      'collections.Shop.orders.maxId: has to be the highest id that the id column takes',
    ],
    [
      { ...EFCORE, ids: undefined },
      'collections.Shop.orders.ids: has to be the column with the ids, like "orders.id"',
    ],
    [{ ...EFCORE, ids: 'id' }, 'collections.Shop.orders.ids: has to be the column'],
    [{ ...EFCORE, proved: true }, 'collections.Shop.orders.proved: can only be false'],
    [{ ...EFCORE, sentinels: [2 ** 63] }, 'sentinels.0: has to be a whole number, as text'],
    [{ ...EFCORE, maxId: 2 ** 53 }, 'collections.Shop.orders.maxId: has to be the highest id'],
    [
      { ...EFCORE, strategy: 'uuid' },
      'orders.strategy: has to be one of sequence, efcore, doctrine, hibernate-pooled',
    ],
    [
      { ...EFCORE, strategy: 'nhibernate-hilo' },
      "NHibernate's enhanced hilo takes every number between two values for its own",
    ],
    [
      { ...EFCORE, strategy: 'hibernate-hilo-before-5.2.10' },
      'Upgrade Hibernate, or switch it to pooled-lo',
    ],
    [
      { ...HILO, where: "entity = 'Order'" },
      'collections.Shop.orders.where: has to be an object of columns and values',
    ],
    [
      { strategy: 'hibernate-pooled', blockSize: 10, maxId: 'int4', ids: false },
      'collections.Shop.orders.sequence: is missing: name it, or a table',
    ],
    [
      { ...EFCORE, strategy: 'hibernate-pooled', table: 'hi' },
      'collections.Shop.orders.table: is given beside sequence',
    ],
    [
      { strategy: 'hibernate-table', blockSize: 10, maxId: 'int4', ids: false },
      'collections.Shop.orders.segment: is missing: which row of hibernate_sequences counts',
    ],
    [
      {
        strategy: 'hibernate-table',
        segment: 'Order',
        optimizer: 'none',
        blockSize: 10,
        maxId: 'int4',
        ids: false,
      },
      'collections.Shop.orders.optimizer: has to be one of pooled',
    ],
    [{ upstream: { url: 'a.example', database: 'Shop' } }, 'collections.Shop.orders.upstream.url'],
    [{ upstream: { url: 'https://a.example', database: 'Shop' }, blockSize: 1 }, 'blockSize'],
    [
      { upstream: { url: 'https://a.example', database: 'Shop', certificate: 'a.pfx' } },
      'collections.Shop.orders.upstream.certificate: needs two files',
    ],
    ['efcore', 'collections.Shop.orders'],
  ])('%j', async (settings, message) => {
    await expect(open(settings)).rejects.toThrow(message)
  })

  test('the same collection twice', async () => {
    await expect(
      openLedger({
        create: true,
        databaseUrl,
        collections: { Shop: { orders: EFCORE, Orders: EFCORE } } as never,
      }),
    ).rejects.toThrow('collections.Shop.Orders: is there twice')
  })

  test('an ORM and a ledger that is not in its database', async () => {
    await expect(
      openLedger({
        create: true,
        dataDir: newFolder(),
        collections: { Shop: { orders: EFCORE } } as never,
      }),
    ).rejects.toThrow(
      "Shop/orders is bound to an ORM's counter, so the ledger has to be in that PostgreSQL " +
        'database. Give --database-url (embedded: databaseUrl).',
    )
  })

  test('a certificate that cannot be read', async () => {
    const upstream = {
      url: 'https://127.0.0.1:1',
      database: 'Shop',
      certificate: { cert: '/nowhere.crt', key: '/nowhere.key' },
    }
    await expect(
      openLedger({
        create: true,
        dataDir: newFolder(),
        collections: { Shop: { orders: { upstream } } },
      }),
    ).rejects.toThrow('/nowhere.crt cannot be read (ENOENT)')
  })
})
