/**
 * A life of devices on one document, behind a relay that tells lies. It repeats older answers,
 * gives a device the answer of another one, loses or delays requests and answers, and says that a
 * write was stored or refused which was not. It invents no document. One thing happens after the
 * other, so a seed repeats a life.
 */
import { expect, onTestFinished, vi } from 'vitest'
import { nextStep } from '../../src/core/failures.js'
import type { HiloSource, Target } from '../../src/device/contract.js'
import { documentSource } from '../../src/source/index.js'
import { createRandom } from '../simulation/random.js'
import { seed } from './sizes.js'

interface Told {
  status: number
  etag?: string | null
  body?: string
}

interface Device {
  name: string
  source: HiloSource
  /** A claim whose answer was lost is sent again. */
  claim?: string | undefined
  lastMax: number
}

const DEVICES = 4
const STEPS = 50
const TIMEOUT_MS = 30_000

export async function expectNoNumberTwice(url: string, target: Target): Promise<void> {
  const SEED = seed()
  const random = createRandom(SEED)
  // After a lost race a device waits for no time.
  vi.spyOn(Math, 'random').mockReturnValue(0)
  onTestFinished(() => {
    vi.restoreAllMocks()
  })
  const earlier: Record<'GET' | 'PUT', Told[]> = { GET: [], PUT: [] }
  const late: (() => Promise<unknown>)[] = []
  const owners = new Map<number, string>()
  let isHonest = false
  let claims = 0

  async function pass(address: string, { signal: _, ...init }: RequestInit): Promise<Told> {
    const answer = await fetch(address, init)
    const told = {
      status: answer.status,
      etag: answer.headers.get('ETag'),
      body: await answer.text(),
    }
    earlier[methodOf(init)].push(told)
    return told
  }

  async function tell(address: string, init: RequestInit): Promise<Told> {
    const method = methodOf(init)
    const old = () => random.pick([{ status: 502 }, ...earlier[method]])
    const lost = new TypeError('connection reset')
    for (const send of late.splice(0)) await send()
    switch (random.weighted({ passed: 12, repeated: 3, beside: 3, lost: 2, late: 1, lie: 4 })) {
      case 'passed':
        return pass(address, init)
      case 'repeated':
        if (random.chance(0.5)) await pass(address, init)
        return old()
      case 'beside': {
        // Another device claims while this request is under way.
        isHonest = true
        if (random.chance(0.3)) await pass(address, init)
        await claimFor(random.pick(devices))
        isHonest = false
        return random.chance(0.5) ? pass(address, init) : old()
      }
      case 'late':
        late.push(() => pass(address, init))
        throw lost
      case 'lost':
        if (random.chance(0.7)) await pass(address, init)
        throw lost
      case 'lie': {
        const told = random.chance(0.5) ? await pass(address, init) : await pass(address, {})
        const body = String(told.body)
        if (method === 'GET')
          return { ...told, body: body.slice(0, random.between(0, body.length)) }
        return random.pick([{ status: 201 }, { status: 204 }, { status: 409 }, { status: 412 }])
      }
    }
  }

  async function answer(address: string, init: RequestInit): Promise<Response> {
    const { status, etag, body } = await (isHonest ? pass(address, init) : tell(address, init))
    return new Response(status === 204 ? null : (body ?? ''), {
      status,
      headers: etag ? { ETag: etag } : {},
    })
  }

  const load = () => documentSource({ url, key: 'store', fetch: answer })

  async function claimFor(device: Device): Promise<unknown> {
    device.claim ??= `${device.name} ${++claims}`
    const id = device.claim
    const claim = { id, lastBatchSize: random.between(1, 40), lastMax: device.lastMax }
    const outcome = await device.source.claim(target, claim, TIMEOUT_MS)
    if ('failure' in outcome) {
      if (nextStep(outcome.failure) === 'forget') device.claim = undefined
      return outcome.failure
    }
    const { from, to } = outcome.grant.range
    for (let number = from; number <= to; number++) {
      const owner = owners.get(number) ?? id
      // Two tabs may send one claim. Its device adds one answer.
      if (owner !== id) throw new Error(`${number} of ${owner} again for ${id}. TEST_SEED=${SEED}`)
      owners.set(number, id)
    }
    device.claim = undefined
    device.lastMax = Math.max(device.lastMax, to)
    return undefined
  }

  const devices = Array.from(
    { length: DEVICES },
    (_, i): Device => ({ name: `device ${i}`, source: load(), lastMax: 0 }),
  )
  for (let step = 0; step < STEPS; step++) {
    const device = random.pick(devices)
    if (random.chance(0.1)) device.source = load()
    await claimFor(device)
  }
  for (const send of late.splice(0)) await send()
  isHonest = true
  for (const device of devices) expect(await claimFor(device), `TEST_SEED=${SEED}`).toBeUndefined()
}

const methodOf = ({ method }: RequestInit): 'GET' | 'PUT' => (method === 'PUT' ? 'PUT' : 'GET')
