// Waits until the run that started it is gone. Then it kills every process whose environment or
// arguments name the run's folder, and removes the folder.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'

const folder = process.argv[2]

const textOf = (path) => {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return '' // It has ended, or is another user's.
  }
}

/** Process ids, each with its arguments and its environment. */
const processes = () =>
  existsSync('/proc/self/environ')
    ? readdirSync('/proc')
        .filter((name) => /^\d+$/.test(name))
        .map((id) => [id, textOf(`/proc/${id}/cmdline`) + textOf(`/proc/${id}/environ`)])
    : execFileSync('ps', ['axeww', '-o', 'pid=,command='], { encoding: 'latin1' })
        .split('\n')
        .map((line) => [line.trim().split(' ', 1)[0], line])

const ofThisRun = () =>
  processes().flatMap(([id, text]) =>
    text.includes(folder) && Number(id) !== process.pid ? [Number(id)] : [],
  )

const kill = (id) => {
  try {
    process.kill(id, 'SIGKILL')
  } catch {} // It has ended.
}

let tries = 20

const end = () => {
  const left = ofThisRun()
  for (const id of left) kill(id)
  // Until then one of them may start another, or write.
  if (left.length > 0) return void setTimeout(end, 50)
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  } catch {
    // One that is still ending has written.
    if (--tries > 0) setTimeout(end, 500)
  }
}

process.stdin.resume().once('close', end)
