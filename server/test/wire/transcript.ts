/** Exchanges as text: a title, then each request with its answer, one line each. */
import { type Exchange, play, type Target } from './exchange.js'
import type { Answered } from './words.js'

export type Transcript = Map<string, Map<string, Answered>>

/** @param target that the exchange has for itself */
export async function transcribe(
  exchanges: readonly Exchange[],
  target: () => Promise<Target>,
): Promise<Transcript> {
  const transcript: Transcript = new Map()
  for (const exchange of exchanges)
    transcript.set(exchange.title, await play(exchange, await target()))
  return transcript
}

export const toText = (transcript: Transcript): string =>
  [...transcript]
    .map(([title, answers]) =>
      [
        `# ${title}`,
        ...[...answers].flatMap(([request, { status, headers, body }]) => [
          request,
          `  ${[status, ...[headers, body].flatMap(inJson)].join('\t')}`,
        ]),
      ].join('\n'),
    )
    .join('\n\n')
    .concat('\n')

const inJson = (value: unknown): string[] => (value === undefined ? [] : [JSON.stringify(value)])

export function fromText(text: string): Transcript {
  const blocks = text.trimEnd().split('\n\n')
  return new Map(
    blocks.map((block) => {
      const [title, ...lines] = block.split('\n')
      const answers = new Map<string, Answered>()
      for (let i = 0; i < lines.length; i += 2) {
        const [status, headers, body] = lines[i + 1]!.trimStart().split('\t')
        answers.set(lines[i]!, {
          status: Number(status),
          headers: JSON.parse(headers!),
          body: body === undefined ? undefined : JSON.parse(body),
        })
      }
      return [title!.slice(2), answers]
    }),
  )
}
