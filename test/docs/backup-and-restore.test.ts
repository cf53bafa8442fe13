/**
 * Follows docs/backup-and-restore.md word by word: its commands run in a shell, in the folder of a
 * server that is killed and restored.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { json } from '../../server/test/handlers.js'
import { addressOf, commandsIn, newShell } from './shell.js'

const PAGE = readFileSync(new URL('../../docs/backup-and-restore.md', import.meta.url), 'utf8')
const [BACKUP, PUT_BACK, [RAISE, SERVE]] = commandsIn(PAGE) as [
  string[],
  string[],
  [string, string],
]
const BY = Number(/--by (\d+)/.exec(RAISE)![1])

async function newServers() {
  const { run, start } = await newShell()
  return {
    run,
    async serve() {
      const child = start(SERVE, { HILO_PORT: '0' })
      const shop = `${await addressOf(child)}/databases/Shop`
      const closed = once(child, 'close')
      return {
        ask: (path: string, init?: RequestInit) => fetch(new URL(path, `${shop}/`), init),
        kill: async () => {
          child.kill('SIGKILL')
          await closed
        },
      }
    },
  }
}

type Server = Awaited<ReturnType<Awaited<ReturnType<typeof newServers>>['serve']>>

let lastId = 0
const newId = () => `00000000-0000-4000-8000-${String(++lastId).padStart(12, '0')}`
const ids = new Set<string>()

/** Every id of a range is a new one. */
async function claim({ ask }: Server, tag: string): Promise<{ Low: number; Token: string }> {
  const collections = [{ tag, count: 32 }]
  const answer = await ask('hilo/next', json({ claim: newId(), collections }))
  expect(answer.status).toBe(201)
  const [range] = (await answer.json()).collections
  for (let n = range.Low; n <= range.High; n++) isNew(`${tag}/${n}`)
  return range
}

async function nextInvoice({ ask }: Server): Promise<void> {
  const answer = await ask('identity/next?name=invoices|', { method: 'POST' })
  isNew(`invoices|${(await answer.json()).NewIdentityValue}`)
}

function isNew(id: string): void {
  expect(ids).not.toContain(id)
  ids.add(id)
}

test('backup, loss, restore, proof, raised floors: no id is granted twice', async () => {
  const { run, serve } = await newServers()
  const lost = await serve()
  await claim(lost, 'orders')
  await nextInvoice(lost)
  await run(BACKUP)
  const { Token } = await claim(lost, 'orders')
  await claim(lost, 'lines')
  await nextInvoice(lost)
  await lost.kill()
  await run(PUT_BACK)

  const restored = await serve()
  const grants = [{ token: Token, next: 1 }]
  await restored.ask('hilo/checkin', json({ id: newId(), grants }))
  expect((await restored.ask('hilo/next?tag=orders')).status).toBe(503)
  expect(await (await restored.ask('/healthz?database=Shop')).json()).toMatchObject({
    Message: expect.stringContaining("'shop' grants nothing"),
  })
  await run([`${RAISE} --yes`])
  expect((await restored.ask('/healthz?database=Shop')).status).toBe(200)
  expect((await claim(restored, 'orders')).Low).toBe(32 + BY + 1)
  expect((await claim(restored, 'lines')).Low).toBe(BY + 1)
  await nextInvoice(restored)
  await restored.kill()

  const again = await serve()
  await again.ask('hilo/checkin', json({ id: newId(), grants }))
  await claim(again, 'orders')
})
