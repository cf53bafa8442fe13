/** What an app does with its ids, and what it checks of every answer. */
import { HiloError } from '../../src/core/errors.js'
import type { Page } from './device.js'
import type { Simulation } from './simulation.js'
import { ofTenant } from './tenants.js'

/** Who brings the authority has no nodes. */
export const ID = /^(\w+)\/(\d+)(?:-([A-Z]))?$/

/** Errors that an app has to expect. */
const EXPECTED = new Set([
  'exhausted',
  'not-leased',
  'timeout',
  'aborted',
  'closed',
  'server-unreachable',
  'server-refused',
  'storage-failed',
])

/** What an app may do, and how often it does. */
const ACTIONS = {
  nextId: 8,
  burst: 4,
  nextIds: 3,
  sync: 3,
  warm: 2,
  reserve: 1,
  release: 0.4,
  close: 0.3,
  abort: 0.5,
  hasty: 0.5,
  patient: 0.3,
  offline: 0.3,
  online: 0.5,
}
type Action = keyof typeof ACTIONS

export function callApp(simulation: Simulation, page: Page, which?: Action): void {
  const { random, scheduler, profile, checker } = simulation
  const tag = random.pick(profile.collections)
  const { device, name } = page

  function issued(ids: readonly string[]): void {
    scheduler.note(page.actor, `issues ${ids.length > 1 ? `${ids[0]} … ${ids.at(-1)}` : ids[0]}`)
    for (const id of ids) {
      const [, prefix, number, node = ''] = ID.exec(id) ?? []
      if (prefix === tag)
        checker.issued(`${ofTenant(tag, page.tenant)}-${node}`, device.name, Number(number))
      else checker.complain(`${name} got an id of another form: ${id}`)
    }
    const log = page.issues.get(tag) ?? []
    page.issues.set(tag, log)
    log.push({ at: scheduler.now, count: ids.length })
  }

  /** While it waits, and for a while after, the page may hold as many. */
  function wish(count: number): { until: number; count: number } {
    const wish = { until: Number.POSITIVE_INFINITY, count }
    page.wishes.set(tag, [...(page.wishes.get(tag) ?? []), wish])
    return wish
  }

  async function call(
    what: string,
    count: number,
    act: () => Promise<string[] | undefined>,
  ): Promise<void> {
    const wished = wish(count)
    page.busyAt = scheduler.now
    try {
      const ids = await act()
      if (ids && ids.length !== count)
        checker.complain(`${name}: ${what} gave ${ids.length} ids instead of ${count}`)
      if (ids && ids.length > 0) issued(ids)
    } catch (error) {
      const { code, message } = error as HiloError
      scheduler.note(page.actor, `${what} fails: ${code}`)
      const isExpected =
        error instanceof HiloError &&
        (EXPECTED.has(code) ||
          (code === 'invalid-response' &&
            (profile.hasRestore ||
              profile.hasClones ||
              // A sign-in page. Ids go on; only who asked for the server itself is told.
              (profile.faults.has('portals') && count === 0) ||
              device.isLossy)))
      if (!isExpected)
        checker.complain(
          `${name}: ${what} failed with ${code ?? ''} ${message}\n${(error as Error).stack}`,
        )
    }
    wished.until = scheduler.now
    page.busyAt = scheduler.now
  }

  function run(what: string, act: () => void): void {
    page.run(`${what} ${tag}`, () => page.isAlive && act())
  }

  const action = which ?? random.weighted(ACTIONS)
  const count = random.chance(0.1) ? random.between(20, 300) : random.between(1, 20)
  const actions: Record<Action, () => void> = {
    nextId: () =>
      run('nextId', () => void call('nextId', 1, async () => [await page.hilo.nextId(tag)])),
    burst: () =>
      run(`${count} × nextId`, () => {
        for (let i = 0; i < count; i++)
          void call('nextId', 1, async () => [await page.hilo.nextId(tag)])
      }),
    nextIds: () =>
      run(
        `nextIds ${count}`,
        () => void call('nextIds', count, () => page.hilo.nextIds(tag, count)),
      ),
    sync: () =>
      run(`${count} × nextIdSync`, () => {
        const ids: string[] = []
        try {
          while (ids.length < count) ids.push(page.hilo.nextIdSync(tag))
        } catch (error) {
          const { code } = error as HiloError
          if (code !== 'not-leased' && code !== 'closed')
            checker.complain(`${name}: nextIdSync failed: ${(error as Error).stack}`)
        }
        if (ids.length > 0) issued(ids)
        page.busyAt = scheduler.now
      }),
    warm: () =>
      run(`warm ${count}`, () => {
        // Kept until it is used.
        wish(count)
        void call('warm', count, async () => void (await page.hilo.warm(tag, count)))
      }),
    reserve: () =>
      run(
        `reserve ${count}`,
        () => void call('reserve', 0, async () => void (await page.hilo.reserve(tag, count))),
      ),
    release: () =>
      run('release', () => {
        device.releases++
        const released = call('release', 0, async () => void (await page.hilo.release()))
        released.then(() => device.releases--)
      }),
    close: () =>
      run(
        'close',
        () =>
          void call('close', 0, async () => {
            const { hilo } = page
            await hilo.close()
            if (hilo === page.hilo) page.closedAt = scheduler.now
          }),
      ),
    abort() {
      const controller = new AbortController()
      run(`nextIds ${count}, aborted`, () => {
        void call('nextIds', count, () =>
          page.hilo.nextIds(tag, count, { signal: controller.signal }),
        )
        scheduler.post(page.actor, random.between(0, 50), 'aborts', () => controller.abort())
      })
    },
    hasty: () =>
      run(
        `nextIds ${count}, hasty`,
        () => void call('nextIds', count, () => page.hilo.nextIds(tag, count, { timeout: 5 })),
      ),
    patient: () =>
      run(
        'nextId, patient',
        () =>
          void call('nextId', 1, async () => [
            await page.hilo.nextId(tag, { timeout: Number.POSITIVE_INFINITY }),
          ]),
      ),
    offline: () => run('goOffline', () => page.hilo.goOffline()),
    online: () => run('goOnline', () => page.hilo.goOnline()),
  }
  actions[action]()
}
