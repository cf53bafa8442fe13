/** Puts the desk together: ids, store, sync and views, and what each change updates. */
import { coalesce } from './coalesce.js'
import { Connection } from './connection.js'
import { Desk } from './desk.js'
import { hilo } from './ids.js'
import { keepPages } from './offline.js'
import { tellOfKill } from './plug.js'
import { COLLECTIONS } from './records.js'
import { DeskStore, type Snapshot } from './store.js'
import { Sync } from './sync.js'
import { listenToTabs, tabName } from './tab.js'
import { must } from './views/dom.js'
import { Experiments } from './views/experiments.js'
import { IdMeters } from './views/id-meters.js'
import { Inspector } from './views/inspector.js'
import { OrderEditor } from './views/order-editor.js'
import { OrderForm } from './views/order-form.js'
import { OrderList } from './views/order-list.js'
import { Receipts } from './views/receipts.js'
import { Scoreboard } from './views/scoreboard.js'
import { StatusBar } from './views/status-bar.js'

const PAGE_SIZE = 100

async function start(): Promise<void> {
  document.documentElement.toggleAttribute('data-framed', window !== window.top)
  tellOfKill()
  const connection = new Connection()
  if (!connection.isSwitchedOn) hilo.goOffline()
  const store = await DeskStore.open()
  await store.noteSwitch(connection.isSwitchedOn)
  let limit = PAGE_SIZE
  let snapshot: Snapshot = { orders: [], customers: new Map(), total: 0, waiting: 0, stuck: 0 }

  const sync = new Sync({
    store,
    isOnline: () => connection.isOnline,
    isShown: () => document.visibilityState === 'visible',
    settled: changed,
    changed: () => render(),
  })
  const tabs = listenToTabs(() => {
    refresh()
    sync.stepInLater()
  })
  const pages = keepPages(() => bar.offerUpdate(() => pages.update()))
  const desk = new Desk(hilo, store, tabName)
  const meters = new IdMeters(hilo, connection, COLLECTIONS)
  const bar = new StatusBar(hilo, connection, sync)
  const scoreboard = new Scoreboard()
  const form = new OrderForm(desk, hilo, connection, made)
  const editor = new OrderEditor({
    async save(key, lines) {
      await desk.edit(key, lines)
      made()
    },
    closed: (key) => list.focus(key, 'edit'),
  })
  const list = new OrderList({
    showMore() {
      limit += PAGE_SIZE
      refresh()
    },
    edit: (order) => editor.open(order),
    repeat: (order) => form.repeat(order, snapshot.customers.get(order.customer)?.name ?? ''),
    reissue: (refused) => form.attempt(async () => `It is ${await desk.reissue(refused)} now.`),
    async resolve({ key }, whose) {
      await store.resolve(key, whose)
      made()
    },
  })
  const experiments = new Experiments(hilo, {
    storm: () => form.storm(),
    async forge() {
      await desk.forge(snapshot.orders.find(({ state }) => state === 'sent')!)
      made()
    },
    lostServer: () => sync.runNow(),
  })
  const receipts = new Receipts(hilo)
  new Inspector(hilo, { receipts: receipts.made })

  /** Something was made in this tab. */
  function made(): void {
    changed()
    sync.runNow()
  }

  /** This tab changed something that the others show too. */
  function changed(): void {
    refresh()
    tabs.notify()
  }

  const refresh = coalesce(async () => {
    snapshot = await store.snapshot(limit)
    list.render(snapshot)
    form.suggest([...snapshot.customers.values()].map(({ name }) => name))
    if (snapshot.waiting > 0 && connection.isSwitchedOn) pages.sendLater()
    render()
  })

  function render(): void {
    bar.render(snapshot)
    meters.render()
    scoreboard.render(sync.counts)
    experiments.render(snapshot.orders.some(({ state }) => state === 'sent'))
    form.recheck()
  }

  connection.addEventListener('change', () => {
    if (connection.isSwitchedOn) hilo.goOnline()
    else hilo.goOffline()
    store.noteSwitch(connection.isSwitchedOn)
    if (connection.isOnline) sync.runNow()
    else sync.pause()
    render()
  })
  hilo.addEventListener('status', render)
  hilo.addEventListener('fork', ({ detail }) => meters.forked(detail.collection))
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'hidden') return
    refresh()
    sync.runNow()
  })

  await refresh()
  sync.runNow()
}

start().catch((error) => {
  document.documentElement.dataset.mood = 'broken'
  must('#status').textContent = 'The desk cannot start.'
  must('#orders').hidden = true
  must('#broken').hidden = false
  must('#broken-text').textContent = `The browser said: ${error?.message ?? error}`
})
