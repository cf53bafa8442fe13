/** Returns: RavenDB's rule, and requests that lack something. */
import type { Exchange } from './exchange.js'
import { numbers } from './numbers.js'

/** Max is 96 before each of them. */
const RETURNED: [end: number, last: number][] = [
  [96, 96],
  [96, 95],
  [96, 80],
  [96, 65],
  [96, 64],
  [96, 97],
  [95, 80],
  [97, 80],
  [64, 40],
  [32, 0],
  [0, 1],
  [0, 0],
  [-1, -2],
  [96, 1000],
  [1000, 96],
]

export const returns: Exchange[] = [
  {
    title: 'returns, at 96',
    requests: RETURNED.flatMap(([end, last], i) => [
      `GET hilo/next?tag=t${i}&lastBatchSize=64`,
      `GET hilo/next?tag=t${i}`,
      `PUT hilo/return?tag=t${i}&end=${end}&last=${last}`,
      `GET hilo/next?tag=t${i}`,
    ]),
  },
  {
    title: 'a return of nobody',
    requests: ['PUT hilo/return?tag=orders&end=32&last=16', 'GET hilo/next?tag=orders'],
  },
  {
    title: 'a return in another case, and once more',
    requests: [
      'GET hilo/next?tag=orders',
      'PUT hilo/return?TAG=ORDERS&END=32&LAST=16',
      'PUT hilo/return?tag=orders&end=32&last=16',
      'PUT hilo/return?tag=orders&end=16&last=8',
      'GET hilo/next?tag=orders',
    ],
  },
  { title: 'end', requests: numbers('end', 'PUT hilo/return?tag=orders&last=1') },
  { title: 'last', requests: numbers('last', 'PUT hilo/return?tag=orders&end=1') },
  {
    title: 'returns that lack something',
    requests: [
      'PUT hilo/return',
      'PUT hilo/return?tag=',
      'PUT hilo/return?tag=%20&end=1&last=1',
      'PUT hilo/return?tag=orders&tag=lines&end=1&last=1',
      'PUT hilo/return?tag=orders',
      'PUT hilo/return?tag=orders&end=1',
      'PUT hilo/return?tag=orders&last=1',
      'PUT hilo/return?tag=orders|&end=1&last=1',
      'PUT hilo/return?tag=orders/&end=1&last=1',
      `PUT hilo/return?tag={a 502}&end=1&last=1`,
    ],
  },
  {
    title: 'methods of a return',
    requests: ['GET', 'PATCH', 'DELETE', 'HEAD'].map(
      (method) => `${method} hilo/return?tag=orders&end=1&last=1`,
    ),
  },
]
