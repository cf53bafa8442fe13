import { Component, inject, signal } from '@angular/core'
import { HiloError } from 'offline-hilo'
import { HILO, injectHiloStatus } from './hilo'

@Component({
  selector: 'app-root',
  template: `
    <button (click)="addOrder()" [disabled]="isBusy()">New order</button>
    @switch (left().state) {
      @case ('exhausted') {
        <p role="status">No id is left. New orders need a network.</p>
      }
      @case ('low') {
        <p role="status">Only {{ left().available }} ids left. Connect soon.</p>
      }
      @default {
        <p role="status">{{ left().available }} ids left for offline work</p>
      }
    }
    <p role="alert">{{ problem() }}</p>
    <ol>
      @for (id of ids(); track id) {
        <li>{{ id }}</li>
      }
    </ol>
  `,
})
export class App {
  readonly #hilo = inject(HILO)
  readonly left = injectHiloStatus('orders')
  readonly ids = signal<string[]>([])
  readonly problem = signal('')
  readonly isBusy = signal(false)

  async addOrder(): Promise<void> {
    this.isBusy.set(true) // Another click would make another order.
    try {
      const id = await this.#hilo.nextId('orders')
      this.ids.update((before) => [...before, id])
      this.problem.set('')
    } catch (error) {
      console.error(error)
      this.problem.set(HiloError.forUser(error))
    } finally {
      this.isBusy.set(false)
    }
  }
}
