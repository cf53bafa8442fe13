/** Puts the desk together: ids, memory, outbox and views, and who is told when something changes. */
import { Connection } from './connection.js'
import { Desk } from './desk.js'
import { hilo } from './ids.js'
import { Outbox } from './outbox.js'
import { COLLECTIONS } from './records.js'
import { DeskStore, type Snapshot } from './store.js'
import { listenToTabs, tabName } from './tab.js'
import { must } from './views/dom.js'
import { IdMeters } from './views/id-meters.js'
import { OrderForm } from './views/order-form.js'
import { OrderList } from './views/order-list.js'
import { ServerTable } from './views/server-table.js'
import { StatusBar } from './views/status-bar.js'

const PAGE_SIZE = 100

async function start(): Promise<void> {
  const connection = new Connection()
  if (!connection.isSwitchedOn) hilo.goOffline()
  const store = await DeskStore.open()
  let limit = PAGE_SIZE
  let snapshot: Snapshot = { orders: [], customers: new Map(), total: 0, waiting: 0, refused: 0 }

  const outbox = new Outbox({ store, isOnline: () => connection.isOnline, settled: changed, changed: () => render() })
  const tabs = listenToTabs(() => {
    refresh()
    outbox.stepInLater()
  })
  const desk = new Desk(hilo, store, tabName)
  const meters = new IdMeters(hilo, connection, COLLECTIONS)
  const bar = new StatusBar(hilo, connection, outbox)
  const table = new ServerTable(async () => {
    await desk.forge(snapshot.orders.find(({ state }) => state === 'sent')!)
    made()
  })
  const form = new OrderForm(desk, hilo, connection, made)
  const list = new OrderList(
    () => {
      limit += PAGE_SIZE
      refresh()
    },
    (refused) => form.attempt(async () => `It is ${await desk.reissue(refused)} now.`),
  )

  /** Something was made in this tab. */
  function made(): void {
    changed()
    outbox.hurry()
  }

  /** This tab changed something that the others show too. */
  function changed(): void {
    refresh()
    tabs.tell()
  }

  const refresh = coalesce(async () => {
    snapshot = await store.snapshot(limit)
    list.render(snapshot)
    form.suggest([...snapshot.customers.values()].map(({ name }) => name))
    render()
  })

  function render(): void {
    bar.render(snapshot)
    meters.render()
    table.render(
      outbox.counts,
      snapshot.orders.some(({ state }) => state === 'sent'),
    )
    form.recheck()
  }

  connection.addEventListener('change', () => {
    if (connection.isSwitchedOn) hilo.goOnline()
    else hilo.goOffline()
    if (connection.isOnline) outbox.hurry()
    else outbox.pause()
    render()
  })
  hilo.addEventListener('status', render)
  hilo.addEventListener('fork', ({ detail }) => meters.forked(detail.collection))
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'hidden') return
    refresh()
    outbox.hurry()
  })

  await refresh()
  outbox.hurry()
}

/** Runs `work` one at a time; calls made meanwhile are answered by one more run. */
function coalesce(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  let isStale = false
  const run = async () => {
    do {
      isStale = false
      await work()
    } while (isStale)
  }
  return () => {
    isStale = true
    running ??= run().finally(() => {
      running = undefined
    })
    return running
  }
}

start().catch((error) => {
  document.documentElement.dataset.mood = 'broken'
  must('#status').textContent = 'The desk cannot start.'
  must('#orders').hidden = true
  must('#broken').hidden = false
  must('#broken-text').textContent = `The browser said: ${error?.message ?? error}`
})
