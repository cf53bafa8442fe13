/**
 * Vue: the status as a ref, for as long as the component lives. It is undefined without a `hilo`,
 * and until the component is mounted: what a server rendered has no status either.
 */
import type { Hilo, HiloStatus } from 'offline-hilo'
import { onMounted, onScopeDispose, type ShallowRef, shallowRef } from 'vue'

export function useHiloStatus(
  hilo: Hilo | undefined,
): Readonly<ShallowRef<HiloStatus | undefined>> {
  const status = shallowRef<HiloStatus>()
  const refresh = () => {
    status.value = hilo?.status()
  }
  onMounted(() => {
    refresh()
    hilo?.addEventListener('status', refresh)
  })
  onScopeDispose(() => hilo?.removeEventListener('status', refresh))
  return status
}
