/**
 * The chain that Spain's VERI*FACTU describes: an example of the form, and no promise that a
 * program which uses it is accepted. AEAT's text: hash specification 0.1.2.
 */
import { chain } from 'offline-hilo/consecutive/chain'

interface Invoice {
  issuer: string
  /** `12345678/G33`, where the id is not the number that is printed. */
  number?: string
  /** `01-01-2024` */
  date: string
  type: string
  /** As they are printed: `12.35` and `12.350` give two hashes. */
  tax: string
  total: string
  /** `2024-01-01T19:20:30+01:00`. Absent: the time of the record. */
  at?: string
}

interface Cancellation {
  issuer: string
  number: string
  date: string
  at?: string
}

export const veriFactu = chain<Invoice | Cancellation>({
  name: 'VERI*FACTU 0.1.2',
  // One chain per installed system, over all its series, which a new year does not touch.
  over: 'device',
  encoding: 'HEX',
  // A field that is empty stays, as `Huella=`.
  initial: '',
  text({ kind, id, time, content }, previous) {
    const number = content.number ?? id
    const end = [`Huella=${previous}`, `FechaHoraHusoGenRegistro=${content.at ?? time}`]
    if (kind === 'cancellation')
      return [
        `IDEmisorFacturaAnulada=${content.issuer}`,
        `NumSerieFacturaAnulada=${number}`,
        `FechaExpedicionFacturaAnulada=${content.date}`,
        ...end,
      ].join('&')
    const { issuer, date, type, tax, total } = content as Invoice
    return [
      `IDEmisorFactura=${issuer}`,
      `NumSerieFactura=${number}`,
      `FechaExpedicionFactura=${date}`,
      `TipoFactura=${type}`,
      `CuotaTotal=${tax}`,
      `ImporteTotal=${total}`,
      ...end,
    ].join('&')
  },
})
