/** How a command asks at the terminal whether it is to go on. */
import { createInterface } from 'node:readline/promises'

/** Without a terminal nobody says yes. */
export async function isConfirmed(what: string, question: string): Promise<boolean> {
  if (!process.stdin.isTTY) return false
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await terminal.question(`${what}\n${question} (yes/no) `)
  terminal.close()
  return answer.trim().toLowerCase() === 'yes'
}
