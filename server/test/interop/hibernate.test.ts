/**
 * Hibernate itself, of seven versions, stores orders while this server grants ranges of the same
 * ids.
 */
import { beforeAll, describe, expect, test } from 'vitest'
import { isInstalled, unlessInstalled } from '../../../test/support/peers.js'
import type { CounterOptions } from '../../src/addons/bound/orm/counter-options.js'
import { check } from '../../src/cli/counters.js'
import { openLedger } from '../../src/index.js'
import { proveBeside } from '../addons/orm/proving.js'
import { newDatabase } from '../postgres.js'
import { BLOCK, CASES, IDS, onSequence, WRONG } from './hibernate-cases.js'
import { compileHibernate, hibernateCommand } from './hibernate-command.js'
import { type BackEnd, meet } from './meeting.js'
import { HIBERNATE } from './peers.js'
import { startTaker } from './taker.js'

describe.each(Object.keys(CASES) as (keyof typeof HIBERNATE)[])('Hibernate %s', (version) => {
  const peer = HIBERNATE[version]
  let classes: string
  beforeAll(() => {
    if (isInstalled(peer)) classes = compileHibernate(version, peer)
  })
  const java =
    (mapping: string[]): BackEnd['command'] =>
    ({ hostname, port, pathname }, isFirst) =>
      hibernateCommand(
        [`${peer.folder}/lib/*`, classes],
        `jdbc:postgresql://${hostname}:${port}${pathname}?user=postgres`,
        isFirst,
        mapping,
      )

  test.skipIf(!isInstalled(peer)).each(CASES[version])(
    `$title${unlessInstalled(peer)}`,
    ({ mapping, ...backEnd }) => meet({ block: BLOCK, ...backEnd, command: java(mapping) }, 200),
  )

  test.skipIf(!isInstalled(peer)).each(WRONG[version] ?? [])(
    `$title is not proved${unlessInstalled(peer)}`,
    async ({ settings, mapping, said }) => {
      const databaseUrl = await newDatabase()
      const taker = await startTaker(java(mapping)(new URL(databaseUrl), true))
      await (await openLedger({ create: true, databaseUrl })).close()
      // It is past its first block, in which some sizes make the same ids.
      await taker.take(3 * BLOCK)
      const options = { databaseUrl, collections: { Shop: { orders: { ...settings, ids: IDS } } } }
      await expect(proveBeside(options, () => taker.take(1))).rejects.toThrow(said)
      await taker.end()
    },
  )

  if (version !== '6.6') return
  test.skipIf(!isInstalled(peer))(
    `a wrong strategy is found by the ids of the table${unlessInstalled(peer)}`,
    async () => {
      const databaseUrl = await newDatabase()
      const url = new URL(databaseUrl)
      const taker = await startTaker(java(['OwnSequence'])(url, true))
      const settings = { ...onSequence, blockSize: BLOCK }
      const checkAs = (strategy: CounterOptions['strategy']) =>
        check({
          databaseUrl,
          collections: { Shop: { orders: { ...settings, strategy, ids: IDS } } },
        })
      await taker.take(1)
      expect(await checkAs('hibernate-pooled-lo')).toContain('not contradicted')
      await taker.take(1)
      await expect(checkAs('hibernate-pooled-lo')).rejects.toThrow('hibernate-pooled fits')
      expect(await checkAs('hibernate-pooled')).toContain(
        `not contradicted by the ids in public.${IDS}`,
      )
      await taker.end()
    },
  )
})
