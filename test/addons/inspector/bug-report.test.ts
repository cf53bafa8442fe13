/** The bug report: all that helps, and no secret. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type Facts, report, VERSION } from '../../../src/addons/inspector/bug-report.js'
import { HiloError, type HiloStatus } from '../../../src/index.js'

const status = (message = ''): HiloStatus => ({
  online: true,
  storage: 'persistent',
  degraded: [],
  collections: {
    orders: {
      available: 5,
      leased: 2,
      reserve: 32,
      state: 'low',
      gaps: 0,
      ...(message && { lastError: new HiloError('server-refused', message, { status: 401 }) }),
    },
  },
  gaps: { crash: 0, giveBack: 0, fork: 0, drop: 0 },
})
const facts = (more: Partial<Facts> = {}): Facts => ({
  status: status(),
  inspections: [],
  activities: [],
  problem: undefined,
  page: 'https://app.example.com/orders?token=s3cret#access',
  browser: 'Browser/1',
  time: 0,
  ...more,
})

describe('a bug report', () => {
  test('has the version of the package', () => {
    expect(VERSION).toBe(JSON.parse(readFileSync('package.json', 'utf8')).version)
    expect(report(facts())).toContain(`offline-hilo ${VERSION}`)
  })

  test('has the state, what happened and when, as JSON', () => {
    const activity = {
      kind: 'claim',
      collection: 'orders',
      database: 'Shop',
      numbers: [],
      time: 1_000,
      isThisPage: false,
      reason: 'Low.',
    } as const
    const inspection = {
      collection: 'orders',
      database: 'Shop',
      segments: [],
      reserve: 32,
      issued: 7,
      gaps: status().gaps,
      isClaiming: false,
    }
    expect(
      JSON.parse(
        report(facts({ activities: [{ ...activity, numbers: [] }], inspections: [inspection] })),
      ),
    ).toMatchObject({
      time: '1970-01-01T00:00:00.000Z',
      status: { collections: { orders: { available: 5, state: 'low' } } },
      inspections: [inspection],
      activities: [{ ...activity, time: '1970-01-01T00:00:01.000Z' }],
    })
  })

  test('has errors with their codes, causes and statuses', () => {
    const problem = new HiloError('exhausted', 'Nothing left.', {
      cause: new HiloError('server-refused', 'No.', { status: 403 }),
    })
    expect(JSON.parse(report(facts({ problem, status: status('It said no.') })))).toMatchObject({
      problem: {
        code: 'exhausted',
        message: 'Nothing left. See docs/reference.md#exhausted.',
        cause: { code: 'server-refused', status: 403 },
      },
      status: {
        collections: {
          orders: {
            lastError: {
              code: 'server-refused',
              message: 'It said no. See docs/reference.md#server-refused.',
              status: 401,
            },
          },
        },
      },
    })
  })

  test.each([
    ['the page’s query and fragment', facts(), 's3cret'],
    [
      'a token that an answer quoted',
      facts({ status: status('It began: {"Token":"c2VjcmV0LXRva2VuLW9mLWEtZ3JhbnQ"') }),
      'c2VjcmV0LXRva2VuLW9mLWEtZ3JhbnQ',
    ],
    [
      'a JSON web token',
      facts({
        status: status(
          'Bad token eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.' +
            'dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U.',
        ),
      }),
      'eyJ',
    ],
    ['what follows Bearer', facts({ status: status('401: Bearer abc was refused') }), 'abc'],
    [
      'a password in an address',
      facts({ status: status('https://ada:pa55@ids.example.com could not be reached') }),
      'pa55',
    ],
    [
      'a query in an address',
      facts({ status: status('https://ids.example.com/next?sig=pa55 could not be reached') }),
      'pa55',
    ],
    [
      'a cause’s',
      facts({ problem: new HiloError('exhausted', 'No.', { cause: 'TypeError: Bearer abc' }) }),
      'abc',
    ],
  ])('does not pass on %s', (_, given, secret) => {
    expect(report(given)).not.toContain(secret)
  })

  test('leaves words and numbers as they are', () => {
    const message =
      'https://ids.example.com answered 429: too many claims of orders. It is asked again ' +
      'later; ids go on while this device has some.'
    expect(report(facts({ status: status(message) }))).toContain(message)
  })
})
