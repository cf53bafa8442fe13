/**
 * What the checks refuse at run time, the types refuse, too. A wrong name, and a value beyond its
 * bounds, such as an empty text, no type can tell.
 */
import { chain } from '../../src/addons/consecutive/chain.js'
import { type Consecutive, consecutive } from '../../src/addons/consecutive/index.js'
import { ean13, idForm, keyedPermutation } from '../../src/addons/format.js'
import { useHiloStatus } from '../../src/addons/react.js'
import { type SqliteDatabase, sqliteStore } from '../../src/addons/sqlite/index.js'
import { hiLoGenerator } from '../../src/addons/textbook.js'
import { createHilo, type Hilo } from '../../src/index.js'
import { documentSource, nextHiSource } from '../../src/source/index.js'

declare const hilo: Hilo
declare const receipts: Consecutive
declare const database: SqliteDatabase

export const options = () => [
  // @ts-expect-error no address
  createHilo('http://x'),
  // @ts-expect-error a URL is no string
  createHilo({ url: new URL('http://x') }),
  // @ts-expect-error no list
  createHilo({ collections: ['orders'] }),
  // @ts-expect-error what a collection is told is an object
  createHilo({ collections: { orders: 200 } }),
  // @ts-expect-error nor a word
  createHilo({ collections: { orders: true } }),
  // @ts-expect-error nor null
  createHilo({ collections: { orders: null } }),
  // @ts-expect-error a count is a number
  createHilo({ collections: { orders: { reserve: '200' } } }),
  // @ts-expect-error a name is a string
  createHilo({ name: 5 }),
  // @ts-expect-error so is that of a database
  createHilo({ database: 5 }),
  // @ts-expect-error and that of a device
  createHilo({ device: 5 }),
  // @ts-expect-error a header has a value
  createHilo({ headers: { authorization: undefined } }),
  // @ts-expect-error a header is a text
  createHilo({ headers: { authorization: 5 } }),
  // @ts-expect-error headers have names
  createHilo({ headers: 'Bearer 1' }),
  // @ts-expect-error a promise is nothing that is asked
  createHilo({ headers: Promise.resolve({}) }),
  // @ts-expect-error nor does a function forget the value
  createHilo({ headers: async () => ({ authorization: undefined }) }),
  // @ts-expect-error one of three words
  createHilo({ credentials: true }),
  // @ts-expect-error spelled right
  createHilo({ credentials: 'samesite' }),
  // @ts-expect-error milliseconds
  createHilo({ timeout: '10s' }),
  // @ts-expect-error a function starts the worker
  createHilo({ worker: '/worker.js' }),
  // @ts-expect-error and returns it
  createHilo({ worker: () => {} }),
  // @ts-expect-error a connection is no store
  createHilo({ store: { prepare() {} } }),
  // @ts-expect-error nor is the function that makes one
  createHilo({ store: sqliteStore }),
  // @ts-expect-error nor the promise of one
  createHilo({ store: Promise.resolve(sqliteStore({ database })) }),
  // @ts-expect-error an address is no source
  createHilo({ source: 'http://x' }),
  // @ts-expect-error nor is the function that makes one
  createHilo({ source: nextHiSource }),
  // @ts-expect-error a separator is a text
  createHilo({ identityPartsSeparator: 5 }),
  // @ts-expect-error a function finds names
  createHilo({ findCollectionName: 'orders' }),
  // @ts-expect-error a function changes them
  createHilo({ transformCollectionName: { Order: 'orders' } }),
  // @ts-expect-error an id is made at once
  createHilo({ formatId: async (number) => `${number}` }),
  // @ts-expect-error an id is a text
  createHilo({ formatId: (number) => number }),
  // @ts-expect-error a form is no function
  createHilo({ formatId: idForm() }),
  // @ts-expect-error an option that only calls have
  createHilo({ signal: AbortSignal.timeout(5) }),
]

export const calls = () => [
  // @ts-expect-error of which collection?
  hilo.nextId(),
  // @ts-expect-error a symbol is no name
  hilo.nextId(Symbol('orders')),
  // @ts-expect-error options are an object
  hilo.nextId('orders', 5),
  // @ts-expect-error a signal is an option
  hilo.nextId('orders', AbortSignal.timeout(5)),
  // @ts-expect-error so is a database
  hilo.nextId('orders', 'Shop'),
  // @ts-expect-error milliseconds
  hilo.nextId('orders', { timeout: '5' }),
  // @ts-expect-error its signal, not the controller
  hilo.nextId('orders', { signal: new AbortController() }),
  // @ts-expect-error a count is a number
  hilo.nextIds('orders', '5'),
  // @ts-expect-error the collection comes first
  hilo.nextIds(5, 'orders'),
  // @ts-expect-error how many?
  hilo.take('orders'),
  // @ts-expect-error how many?
  hilo.warm('orders'),
  // @ts-expect-error one collection
  hilo.warm({ orders: 5 }, 5),
  // @ts-expect-error of which collection?
  hilo.reserve(500),
  // @ts-expect-error a list has no counts
  hilo.reserve(['orders'], 500),
  // @ts-expect-error a count is a number
  hilo.reserve('orders', '500'),
  // @ts-expect-error a misspelt option
  hilo.reserve({ orders: 5 }, { timeOut: 5 }),
  // @ts-expect-error one collection, or all
  hilo.release(['orders']),
  // @ts-expect-error a release has no timeout
  hilo.release({ timeout: 5 }),
  // @ts-expect-error a name is a text
  hilo.status(5),
  // @ts-expect-error a status waits for nothing
  hilo.status('orders', { timeout: 5 }),
  // @ts-expect-error of which collection?
  hilo.inspect(),
  // @ts-expect-error a look at the storage has no timeout
  hilo.inspect('orders', { timeout: 5 }),
  // @ts-expect-error every collection is watched
  hilo.watch('orders', () => {}),
  // @ts-expect-error of what?
  hilo.nextIdentity(),
  // @ts-expect-error a key is an option
  hilo.nextIdentity('invoices', 'A-1'),
  // @ts-expect-error a key is a text
  hilo.nextIdentity('invoices', { key: 5 }),
  // @ts-expect-error an identity waits as long as a request
  hilo.nextIdentity('invoices', { timeout: 5 }),
  // @ts-expect-error a database is an option
  hilo.startOver('Shop'),
  // @ts-expect-error who listens?
  hilo.addEventListener('low'),
  // @ts-expect-error a name is no Hilo
  useHiloStatus('orders'),
]

export const sources = () => [
  // @ts-expect-error a misspelt option
  nextHiSource({ key: 'a', nextHigh: () => 1, maxLo: 10 }),
  // @ts-expect-error a number
  nextHiSource({ key: 'a', nextHi: () => 1, maxLo: '10' }),
  // @ts-expect-error a number
  nextHiSource({ key: 'a', nextHi: () => 1, maxLo: 10, firstId: '1' }),
  // @ts-expect-error a key is a text
  nextHiSource({ key: 5, nextHi: () => 1, maxLo: 10 }),
  // @ts-expect-error where is it?
  documentSource({ key: 'a' }),
  // @ts-expect-error a number
  documentSource({ url: '/{collection}.json', capacity: '64' }),
  // @ts-expect-error a key is a text
  documentSource({ url: '/{collection}.json', key: 5 }),
  // @ts-expect-error a header has a value
  documentSource({ url: '/{collection}.json', headers: { authorization: undefined } }),
  // @ts-expect-error a function fetches
  documentSource({ url: '/{collection}.json', fetch: 'no-cors' }),
  // @ts-expect-error a misspelt option
  documentSource({ url: '/{collection}.json', capasity: 64 }),
  // @ts-expect-error a misspelt option
  hiLoGenerator({ nextHigh: () => 1, maxLo: 10 }),
  // @ts-expect-error how many ids has a hi?
  hiLoGenerator({ nextHi: () => 1 }),
  // @ts-expect-error a hi is a number
  hiLoGenerator({ nextHi: () => '1', maxLo: 10 }),
  // @ts-expect-error a path is no connection
  sqliteStore({ database: 'ids.db' }),
  // @ts-expect-error a misspelt option
  sqliteStore({ file: database }),
  // @ts-expect-error a connection is an option
  sqliteStore(database),
  // @ts-expect-error rows are an array
  sqliteStore({ database: () => undefined }),
]

export const forms = () => [
  // @ts-expect-error a misspelt option
  idForm({ prefx: 'O' }),
  // @ts-expect-error a prefix is a text
  idForm({ prefix: 5 }),
  // @ts-expect-error a width is a number
  idForm({ width: '6' }),
  // @ts-expect-error a check digit is a function or two, not its name
  idForm({ checkDigit: 'luhn' }),
  // @ts-expect-error a permutation is made of a key
  idForm({ width: 6, permutation: new Uint8Array(16) }),
  // @ts-expect-error a key has bytes
  keyedPermutation('secret'),
  // @ts-expect-error a prefix is a text
  ean13({ prefix: 400 }),
  // @ts-expect-error an id is a text
  idForm().numberOf(5),
]

export const series = () => [
  // @ts-expect-error of which Hilo?
  consecutive('receipts'),
  // @ts-expect-error of which collection?
  consecutive(hilo),
  // @ts-expect-error a series is a text
  consecutive(hilo, 'receipts', { series: 5 }),
  // @ts-expect-error three words, or a function
  consecutive(hilo, 'receipts', { period: 'week' }),
  // @ts-expect-error a chain is made by chain()
  consecutive(hilo, 'receipts', { chain: true }),
  // @ts-expect-error ranges are a list
  consecutive(hilo, 'receipts', { ranges: { from: 1, to: 9 } }),
  // @ts-expect-error a form makes a text
  consecutive(hilo, 'receipts', { formatId: (number) => number }),
  // @ts-expect-error a key is an option
  receipts.next('sale'),
  // @ts-expect-error a key is a text
  receipts.next({ key: 5 }),
  // @ts-expect-error a date is no text
  receipts.next({ key: 'sale', date: '2026-11-28' }),
  // @ts-expect-error of which number?
  receipts.settle(),
  // @ts-expect-error a misspelt option
  receipts.settle('sale', 'voided', { why: 'twice' }),
  // @ts-expect-error its text is made by a function
  chain({ text: 'receipt' }),
]
