/** What stands for the ids, times and addresses of one exchange, in its requests and answers. */

/** What is compared of an answer. */
export interface Answered {
  status: number
  headers: Record<string, string>
  body: unknown
}

/** Others say nothing of the request: the date, the server's version, how the body is sent. */
const COMPARED = ['content-type', 'etag', 'database-missing', 'retry-after']
/** A longer run of one letter is written as its length. */
const LONG_RUN = /(.)\1{99,}/gu

export class Words {
  readonly #database: string
  readonly #vectors: string[] = []
  readonly #hashes: string[] = []

  constructor(database: string) {
    this.#database = database
  }

  /**
   * - `{db}`, `{DB}`: the name of the database
   * - `{ago 35}`: the time 35 s ago, as RavenDB writes it
   * - `{vector 2}`: the second change vector that the exchange has seen
   * - `{a 600}`: 600 times the letter
   */
  fill(text: string): string {
    return text
      .replaceAll('{db}', this.#database)
      .replaceAll('{DB}', this.#database.toUpperCase())
      .replace(/\{ago (-?\d+)\}/g, (_, seconds) =>
        new Date(Date.now() - seconds * 1000).toISOString().replace('Z', '0000Z'),
      )
      .replace(/\{vector (\d+)\}/g, (_, i) => this.#vectors[Number(i) - 1] ?? 'none')
      .replace(/\{(.) (\d+)\}/gu, (_, letter, count) => letter.repeat(Number(count)))
  }

  /** @param path that was asked for */
  async answered(path: string, response: Response): Promise<Answered> {
    const text = await response.text()
    const headers = COMPARED.flatMap((name) => {
      const value = response.headers.get(name)
      // RavenDB gives a type to nothing, too.
      return value === null || (text === '' && name === 'content-type')
        ? []
        : [[name, this.#plain(value)]]
    })
    return {
      status: response.status,
      headers: Object.fromEntries(headers),
      body: text === '' ? undefined : this.#plainBody(path, JSON.parse(text)),
    }
  }

  /** `Url` and `Error` only repeat what is known; when they do not, they stay. */
  #plainBody(path: string, body: Record<string, unknown>): unknown {
    const { Url, Error: error, Token: _, ...rest } = body
    const { pathname, search } = new URL(`http://x${path}`)
    const isEcho = Url === pathname + search
    // Behind the message stand the calls that led to it.
    const first = String(error).split(/\r?\n/)[0]
    const isKnown = first === `${rest.Type}: ${rest.Message}`
    return this.#plain({
      ...(Url !== undefined && !isEcho && { Url }),
      ...rest,
      ...(error !== undefined && !isKnown && { Error: first }),
    })
  }

  #plain(value: unknown, key = ''): unknown {
    if (typeof value === 'string') return this.#plainText(value)
    // Counts the changes of the cluster.
    if (key === 'Etag') return '{etag}'
    if (Array.isArray(value)) return value.map((each) => this.#plain(each))
    if (typeof value !== 'object' || value === null) return value
    const entries = Object.entries(value)
      // RavenDB tells it as soon as it knows it.
      .filter(([name]) => name !== 'ServerVersion')
      .map(([name, each]) => [name, this.#plain(each, name)] as const)
    return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  #plainText(text: string): string {
    return text
      .replace(new RegExp(this.#database, 'gi'), (name) =>
        name === this.#database ? '{db}' : '{DB}',
      )
      .replace(
        /\b[A-Z]+:\d+-[\w+/]{22}/g,
        (vector) => `{vector ${numberOf(vector, this.#vectors)}}`,
      )
      .replace(/Hash-[\w+/]{43}=/g, (hash) => `{hash ${numberOf(hash, this.#hashes)}}`)
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z/g, '{time}')
      .replace(/http:\/\/(ids\.test|[\d.]+:\d+)/g, '{url}')
      .replace(LONG_RUN, (run, letter) => `{${letter} ${[...run].length}}`)
  }
}

function numberOf(text: string, known: string[]): number {
  if (!known.includes(text)) known.push(text)
  return known.indexOf(text) + 1
}
