/** The programs that tests start: nothing of one is left, whatever goes wrong with it. */
import { expect, test } from 'vitest'
import { orKill, start } from './process.js'

const RUNS_ON = ['-e', 'console.log("ready"); setInterval(() => {}, 1_000)']

test('a program that is ready and cannot be used is killed', async () => {
  const program = await start(process.execPath, RUNS_ON, /ready/)
  await expect(orKill(program.kill, Promise.reject(new Error('no connection')))).rejects.toThrow(
    'no connection',
  )
  await program.closed
})

test('a program that ends before it is ready is an error with what it said', async () => {
  await expect(
    start(process.execPath, ['-e', 'console.error("no display")'], /ready/),
  ).rejects.toThrow('no display')
})
