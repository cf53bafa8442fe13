/** Vue: the status as a ref, for as long as the component lives; undefined without a `hilo`. */
import type { Hilo, HiloStatus } from 'offline-hilo'
import { onScopeDispose, type ShallowRef, shallowRef } from 'vue'

export function useHiloStatus(
  hilo: Hilo | undefined,
): Readonly<ShallowRef<HiloStatus | undefined>> {
  const status = shallowRef(hilo?.status())
  const refresh = () => {
    status.value = hilo?.status()
  }
  hilo?.addEventListener('status', refresh)
  onScopeDispose(() => hilo?.removeEventListener('status', refresh))
  return status
}
