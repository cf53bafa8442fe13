import { Component, inject, signal } from '@angular/core'
import { HILO, injectHiloStatus } from './hilo'

@Component({
  selector: 'app-root',
  template: `
    <button (click)="addOrder()" [disabled]="left().state === 'exhausted'">New order</button>
    @switch (left().state) {
      @case ('exhausted') {
        <p role="alert">No id is left. New orders need a network.</p>
      }
      @case ('low') {
        <p role="status">Only {{ left().available }} ids left. Connect soon.</p>
      }
      @default {
        <p role="status">{{ left().available }} ids left for offline work</p>
      }
    }
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

  async addOrder(): Promise<void> {
    const id = await this.#hilo.nextId('orders')
    this.ids.update((before) => [...before, id])
  }
}
