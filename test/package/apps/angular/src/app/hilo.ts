import {
  DestroyRef,
  type EnvironmentProviders,
  InjectionToken,
  inject,
  makeEnvironmentProviders,
  type Signal,
  signal,
} from '@angular/core'
import { type CollectionStatus, createHilo, type Hilo, type HiloOptions } from 'offline-hilo'

/** The one `Hilo` of the app, made when it is injected first. */
export const HILO = new InjectionToken<Hilo>('Hilo')

export function provideHilo(options: HiloOptions): EnvironmentProviders {
  return makeEnvironmentProviders([{ provide: HILO, useFactory: () => createHilo(options) }])
}

/** A collection's status as a signal, for as long as the component lives. */
export function injectHiloStatus(collection: string): Signal<CollectionStatus> {
  const hilo = inject(HILO)
  const status = signal(hilo.status(collection))
  const refresh = () => status.set(hilo.status(collection))
  hilo.addEventListener('status', refresh)
  inject(DestroyRef).onDestroy(() => hilo.removeEventListener('status', refresh))
  return status.asReadonly()
}
