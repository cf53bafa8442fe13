import { type ApplicationConfig, provideBrowserGlobalErrorListeners } from '@angular/core'
import { provideHilo } from './hilo'

export const appConfig: ApplicationConfig = {
  providers: [
    provideBrowserGlobalErrorListeners(),
    provideHilo({
      collections: { orders: { reserve: 40 } },
      worker: () => new Worker(new URL('./hilo.worker.ts', import.meta.url), { type: 'module' }),
    }),
  ],
}
