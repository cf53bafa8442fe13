import { Component, DestroyRef, inject, isDevMode, signal } from '@angular/core'
import { liveQuery } from 'dexie'
import { HiloError } from 'offline-hilo'
import { addOrder, listOrders, NOT_STORED } from './db'
import { hilo, idsLeft } from './hilo'
import { keepSending, sendAgain, trySending } from './outbox'

@Component({
  selector: 'app-root',
  template: `
    <main>
      <h1>My shop</h1>
      <form (submit)="order($event)">
        <label>Customer <input name="customer" required /></label>
        <button type="submit" [disabled]="isBusy()">New order</button>
      </form>
      <p role="status">{{ left() }}</p>
      <p role="alert">{{ problem() }}</p>
      <ul>
        @for (order of orders(); track order.id) {
          <li>
            {{ order.id }} {{ order.customer }}, {{ order.state }}
            @if (order.isStuck) {
              <button type="button" (click)="sendAgain(order.id)">Send again</button>
            }
          </li>
        }
      </ul>
    </main>
  `,
})
export class App {
  readonly sendAgain = sendAgain
  readonly orders = signal<Awaited<ReturnType<typeof listOrders>>>([])
  readonly left = signal(idsLeft(hilo.status('orders')))
  readonly problem = signal('')
  readonly isBusy = signal(false)

  constructor() {
    const refresh = () => this.left.set(idsLeft(hilo.status('orders')))
    hilo.addEventListener('status', refresh)
    const listing = liveQuery(() =>
      listOrders().catch(() => {
        this.problem.set(NOT_STORED)
        return []
      }),
    ).subscribe((all) => this.orders.set(all))
    const stopSending = keepSending()
    inject(DestroyRef).onDestroy(() => {
      hilo.removeEventListener('status', refresh)
      listing.unsubscribe()
      stopSending()
    })
    // Only the built app has the file.
    if (!isDevMode()) navigator.serviceWorker?.register('/service-worker.js')
  }

  async order(event: Event): Promise<void> {
    event.preventDefault()
    const form = event.currentTarget as HTMLFormElement
    // Until this order is stored, another click would make another one.
    this.isBusy.set(true)
    try {
      await addOrder(String(new FormData(form).get('customer')))
      form.reset()
      this.problem.set('')
    } catch (error) {
      console.error(error)
      // What was typed stays. For example, no id is left, and there is no network.
      this.problem.set(HiloError.forUser(error))
    } finally {
      this.isBusy.set(false)
    }
    trySending()
  }
}
