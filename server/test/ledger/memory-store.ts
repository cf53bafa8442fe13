/**
 * The ledger's rows in maps: what a row store does, without a database. Rows are frozen, so that a
 * step which changes what it was given fails.
 */
import { MemoryStore as DeviceMemory } from '../../../src/store/memory.js'
import {
  byClaim,
  identityText,
  isSame,
  keyOf,
  keyText,
  lettersOf,
  serialText,
} from '../../src/ledger/collections.js'
import { newSecret, type Secrets, secretsOf } from '../../src/ledger/grant-token.js'
import type { CollectionKey, IdentityKey, IdParts } from '../../src/ledger/ledger.js'
import { OtherIds } from '../../src/ledger/ledger-errors.js'
import { newLedgerName } from '../../src/ledger/name.js'
import { grantedBefore, meets } from '../../src/ledger/overlap.js'
import {
  type Quota,
  type RowChanges,
  type RowStore,
  type Rows,
  type Selection,
  type SeriesNameKey,
  withinQuota,
} from '../../src/ledger/row-store.js'
import {
  type CollectionRow,
  type GrantRow,
  type IdentityClaimRow,
  type IdentityRow,
  isSettled,
  newCollection,
  newIdentity,
  type ReturnRow,
  type SerialRow,
  type SeriesRow,
  type Tombstone,
} from '../../src/ledger/rows.js'
import { NAME, SECRET, settingKeysOf, settingsFrom, toDatabases } from '../../src/sql/meta.js'

export interface MemoryRows {
  collections: Map<string, CollectionRow>
  grants: Map<string, GrantRow>
  tombstones: Map<string, Tombstone>
  identities: Map<string, IdentityRow>
  series: Map<string, SeriesRow>
  settings: Map<string, string>
  identityClaims: IdentityClaimRow[]
  returns: ReturnRow[]
}

export class MemoryStore implements RowStore, MemoryRows {
  readonly #secret = newSecret()
  readonly #name = newLedgerName()
  #nodeTag: string | undefined
  readonly devices = new DeviceMemory()
  collections = new Map<string, CollectionRow>()
  grants = new Map<string, GrantRow>()
  tombstones = new Map<string, Tombstone>()
  identities = new Map<string, IdentityRow>()
  series = new Map<string, SeriesRow>()
  settings = new Map<string, string>()
  identityClaims: IdentityClaimRow[] = []
  returns: ReturnRow[] = []

  get secrets(): Secrets {
    return secretsOf(this.settings.get(SECRET) ?? this.#secret)
  }

  get name(): string {
    return this.settings.get(NAME) ?? this.#name
  }

  /** All rows as they are now; rows are never changed in place. */
  copy(): MemoryRows {
    return {
      collections: new Map(this.collections),
      grants: new Map(this.grants),
      tombstones: new Map(this.tombstones),
      identities: new Map(this.identities),
      series: new Map(this.series),
      settings: new Map(this.settings),
      identityClaims: [...this.identityClaims],
      returns: [...this.returns],
    }
  }

  /** Has the rows of a copy, and no others. */
  replace(rows: MemoryRows): void {
    Object.assign(this, rows)
  }

  /** Changes a row of a table as nobody should. */
  edit(table: string, key: object, change: object | undefined): void {
    const rows: Map<string, object> =
      table === 'hilo_identities' ? this.identities : this.collections
    for (const [name, row] of rows)
      if (Object.entries(key).every(([field, value]) => Reflect.get(row, field) === value))
        if (change) rows.set(name, Object.freeze({ ...row, ...change }))
        else rows.delete(name)
  }

  readonly change: RowStore['change'] = async ({ select, step }) => {
    let result = step(this.#load(select), new Map())
    for (let wanted = select; 'select' in result; ) {
      wanted = { ...wanted, ...result.select }
      result = step(this.#load(wanted), new Map())
    }
    this.#save(result.changes)
    return result.answer
  }

  readonly readCollections: RowStore['readCollections'] = async (keys) =>
    keys.flatMap((key) => this.collections.get(keyText(key)) ?? [])

  readonly readStatus: RowStore['readStatus'] = async () =>
    [...this.collections.values()]
      .filter(({ droppedAt }) => droppedAt === null)
      .sort((a, b) => (keyText(a) < keyText(b) ? -1 : 1))

  readonly readCovering: RowStore['readCovering'] = async (key, number) =>
    this.#grantsOf(key)
      .filter(({ low, firstHigh }) => low <= number && number <= firstHigh)
      .sort((a, b) => a.serial - b.serial)
      .slice(-10)

  readonly readSeries: RowStore['readSeries'] = async (database, after, limit) => {
    const order = (a: string, b: string) => (a === b ? 0 : a < b ? -1 : 1)
    return [...this.series.values()]
      .filter((row) => row.database === database)
      .filter(
        ({ collection, ordinal }) =>
          (order(collection, after.collection) || ordinal - after.place) > 0,
      )
      .sort((a, b) => order(a.collection, b.collection) || a.ordinal - b.ordinal)
      .slice(0, limit)
  }

  readonly readHandedOver: RowStore['readHandedOver'] = async (key) =>
    [...this.series.values()].filter((row) => isSame(row, key) && row.handOvers !== '[]')

  readonly findSeries: RowStore['findSeries'] = async (key) => this.#named(key)

  #named(key: SeriesNameKey): SeriesRow | undefined {
    return [...this.series.values()].find((row) => isSame(row, key) && row.nameKey === key.nameKey)
  }

  #openOf(key: Selection['seriesOpen']): [string, SeriesRow][] {
    if (!key) return []
    const { device } = key
    return [...this.series].filter(
      ([, row]) => isSame(row, key) && row.device === device && row.closedAt === null,
    )
  }

  readonly countSeries: RowStore['countSeries'] = async (database) =>
    [...this.series.values()].filter((row) => row.database === database).length

  readonly countOpenSeries: RowStore['countOpenSeries'] = async (database, by) =>
    [...this.series.values()].filter(
      ({ grant, closedAt, ...row }) =>
        row.database === database && closedAt === null && this.grants.get(grant)?.claimedBy === by,
    ).length

  readonly readDatabases: RowStore['readDatabases'] = async () =>
    toDatabases([...this.settings].map(([key, value]) => ({ key, value })))

  readonly readNames: RowStore['readNames'] = async () => ({
    collections: [...this.collections.values()].map(keyOf),
    identities: [...this.identities.values()].map(({ database, name }) => ({ database, name })),
  })

  readonly countFree: RowStore['countFree'] = async () =>
    [...this.collections.values()].reduce((sum, { freeCount }) => sum + freeCount, 0)

  readonly readOld: RowStore['readOld'] = async ({ settledBefore, heardBefore }) =>
    [...this.grants.values()].filter(
      (row) => row.heardAt < (isSettled(row) ? settledBefore : heardBefore),
    )

  readonly readIdentities: RowStore['readIdentities'] = async (database) =>
    [...this.identities.values()].filter(
      (row) => row.database === database && row.droppedAt === null,
    )

  readonly removeDropped: RowStore['removeDropped'] = async () => {
    const isDropped = (key: CollectionKey) => this.collections.get(keyText(key))?.droppedAt !== null
    for (const rows of [this.grants, this.tombstones])
      for (const row of rows.values()) if (isDropped(row)) rows.delete(row.id)
    for (const row of this.series.values())
      if (this.collections.get(keyText(lettersOf(row)))?.droppedAt) {
        const { closedBy, reason } = row
        const written = { closedBy: closedBy && '', reason: reason && '' }
        this.series.set(
          row.grant,
          Object.freeze({ ...row, device: '', handOvers: '[]', ...written }),
        )
      }
  }

  readonly pruneAnswers: RowStore['pruneAnswers'] = async (before) => {
    this.returns = this.returns.filter(({ returnedAt }) => returnedAt >= before)
    this.identityClaims = this.identityClaims.filter(({ claimedAt }) => claimedAt >= before)
  }

  useIdParts({ nodeTag }: IdParts): void {
    if (this.#nodeTag !== undefined && this.#nodeTag !== nodeTag)
      throw new OtherIds('nodeTag', 'node-tag', this.#nodeTag, nodeTag)
    this.#nodeTag = nodeTag
  }

  async ping() {}
  async close() {}

  #load(selected: Selection): Rows {
    const { collections = [], identities = [], quota, claims = [], identityClaims = [] } = selected
    const { known = [], grants = [], serials = [], series = [], returned } = selected
    const ofClaims = new Set(claims.map((claim) => `${keyText(claim)}\n${claim.id}`))
    const ofIdentities = new Set(
      identityClaims.map((claim) => `${identityText(claim)}\n${claim.id}`),
    )
    return {
      selected,
      databases: toDatabases(
        settingKeysOf(selected.databases ?? []).flatMap((key) => {
          const value = this.settings.get(key)
          return value === undefined ? [] : { key, value }
        }),
      ),
      collections: new Map(
        [
          ...load(this.collections, known, keyText, newCollection, undefined),
          ...load(this.collections, collections, keyText, newCollection, quota),
        ].map(([key, row]) => [key, { ...row, binding: undefined }]),
      ),
      identities: new Map(
        [...load(this.identities, identities, identityText, newIdentity, quota)].map(
          ([key, row]) => [key, { ...row, answered: this.#answered(row) }],
        ),
      ),
      claimed: byClaim(
        claims.length === 0
          ? []
          : [...this.grants.values()].filter((row) =>
              ofClaims.has(`${keyText(row)}\n${row.claim}`),
            ),
        keyText,
      ),
      answered: byClaim(
        this.identityClaims.filter((row) => ofIdentities.has(`${identityText(row)}\n${row.claim}`)),
        identityText,
      ),
      grants: some(this.grants, grants),
      tombstones: some(this.tombstones, grants),
      serials: new Map(
        serials.flatMap((key): [string, SerialRow][] => {
          const row = this.collections.get(keyText(key))
          const grant = this.#grantsOf(key).find(({ serial }) => serial === key.serial)
          return row
            ? [
                [
                  serialText(key),
                  {
                    ...key,
                    newest: row.serial,
                    grant: grant?.id ?? null,
                    floor: row.floor,
                    dropped: row.droppedSerial,
                  },
                ],
              ]
            : []
        }),
      ),
      seriesNamed: selected.seriesNamed && this.#named(selected.seriesNamed),
      series: new Map([...some(this.series, series), ...this.#openOf(selected.seriesOpen)]),
      returnedOf:
        returned &&
        this.#held(returned)
          .filter(({ low }) => low <= returned.end)
          .at(-1),
      isReturned: this.returns.some(
        (row) =>
          returned !== undefined &&
          isSame(row, returned) &&
          row.end === returned.end &&
          row.last === returned.last,
      ),
      held: new Map(
        (selected.withHeld ? collections : []).map((key) => {
          const serial = Math.max(0, ...this.#grantsOf(key).map((row) => row.serial))
          return [keyText(key), { high: this.#held(key).at(-1)?.high ?? 0, serial }]
        }),
      ),
    }
  }

  #save(changes: RowChanges): void {
    const newGrants = (changes.newGrants ?? []).map((grant): GrantRow => {
      const { clearTo: _, node: __, ...row } = grant
      const grants = this.#grantsOf(row)
      const other = grants.findLast((each) => meets(grant, each))
      const highs = grants.map(({ firstHigh }) => firstHigh)
      if (other)
        throw grantedBefore(row, row, { low: other.low, high: other.firstHigh }, Math.max(...highs))
      return row
    })
    for (const { key, value } of settingsFrom(changes)) this.settings.set(key, value)
    for (const row of changes.collections ?? [])
      this.collections.set(keyText(row), Object.freeze(row))
    for (const row of [...newGrants, ...(changes.grants ?? [])])
      this.grants.set(row.id, Object.freeze(row))
    for (const id of changes.prunedGrants ?? []) this.grants.delete(id)
    for (const row of changes.tombstones ?? []) this.tombstones.set(row.id, Object.freeze(row))
    for (const row of changes.identities ?? [])
      this.identities.set(identityText(row), Object.freeze(row))
    for (const row of changes.series ?? []) this.series.set(row.grant, Object.freeze(row))
    this.returns.push(...(changes.returns ?? []))
    this.identityClaims.push(...(changes.identityClaims ?? []))
  }

  #answered = (key: IdentityKey): number =>
    Math.max(
      0,
      ...this.identityClaims
        .filter((row) => identityText(row) === identityText(key))
        .map(({ value }) => value),
    )

  #grantsOf = (key: { database: string; collection: string }): GrantRow[] =>
    [...this.grants.values()].filter((row) => isSame(row, key))

  /** Grants that hold numbers, lowest first. */
  #held = (key: { database: string; collection: string }): GrantRow[] =>
    this.#grantsOf(key)
      .filter(({ low, high }) => high >= low)
      .sort((a, b) => a.low - b.low)
}

/** Those of these keys. */
const some = <Row>(rows: ReadonlyMap<string, Row>, keys: readonly string[]): Map<string, Row> =>
  new Map(
    keys.flatMap((key): [string, Row][] => {
      const row = rows.get(key)
      return row ? [[key, row]] : []
    }),
  )

function load<Key extends { database: string }, Row extends Key & { droppedAt: number | null }>(
  rows: ReadonlyMap<string, Row>,
  keys: readonly Key[],
  textOf: (key: Key) => string,
  newRow: (key: Key) => Row,
  quota: Quota | undefined,
): Map<string, Row> {
  const found = new Map<string, Row>()
  const missing: Key[] = []
  for (const key of keys) {
    const row = rows.get(textOf(key))
    if (row && row.droppedAt === null) found.set(textOf(key), row)
    else missing.push(key)
  }
  if (!quota) return found
  const perDatabase = new Map<string, number>()
  for (const { database, droppedAt } of rows.values())
    if (droppedAt === null) perDatabase.set(database, (perDatabase.get(database) ?? 0) + 1)
  const usage = { perDatabase, databases: perDatabase.size }
  for (const key of withinQuota(missing, usage, quota))
    found.set(textOf(key), { ...newRow(key), ...rows.get(textOf(key)), droppedAt: null })
  return found
}
