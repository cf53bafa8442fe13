/** Four desks in one window, and what the server's table says of all their orders. */
import { ask } from '../ask.js'
import type { Counts } from '../records.js'
import { must } from '../views/dom.js'
import { Scoreboard } from '../views/scoreboard.js'

const REFRESH_MS = 1_000

const scoreboard = new Scoreboard()
const desks = [...document.querySelectorAll('iframe')]
const press = (desk: HTMLIFrameElement, id: string) =>
  desk.contentDocument?.querySelector<HTMLButtonElement>(id)?.click()

must('#storm-all').addEventListener('click', () => {
  for (const desk of desks) press(desk, '#storm')
})
must('#kill-one').addEventListener('click', () =>
  press(desks[Math.floor(Math.random() * desks.length)]!, '#kill'),
)

async function refresh(): Promise<void> {
  scoreboard.render(await ask<Counts>('/api/counts'))
  setTimeout(refresh, REFRESH_MS)
}

refresh()
