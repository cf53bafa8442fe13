/** The server's log on Node: JSON lines on stderr, by pino. */
import { destination, pino } from 'pino'
import type { Log } from '../http/log.js'

const STDERR = 2

/** While lines cannot be written, as on a full disk, so much of them waits, and more is dropped. */
const MAX_WAITING_BYTES = 2 ** 24

/** No request waits until its line is written. The last lines are written when the process ends. */
export function createLog(): Log {
  const lines = destination({ fd: STDERR, sync: false, maxLength: MAX_WAITING_BYTES })
  let isWritable = true
  lines.on('write', () => {
    isWritable = true
  })
  lines.on('error', () => {
    isWritable = false
  })
  // It tries until it succeeds, so that the process would never end.
  const { flushSync } = lines
  lines.flushSync = () => {
    if (isWritable) flushSync.call(lines)
  }
  return pino({ name: 'offline-hilo-server' }, lines)
}
