// Where answers come from: the server that sent the page, or the page's own file.

/** Why there is no answer. */
export class Refusal extends Error {
  constructor(readonly status: number, sentence: string) {
    super(sentence);
  }
}

export interface Source {
  /** Whether anything may be asked; else only what the file holds. */
  readonly isServed: boolean;
  has(request: string): boolean;
  ask(request: string): Promise<unknown>;
}

export class ServedSource implements Source {
  readonly isServed = true;

  /** The token goes along in a header: what a page sets by itself goes to nobody else, not to another port either. */
  constructor(private readonly token: string) {}

  fetch(path: string): Promise<Response> {
    return fetch(path, { headers: { "timesink-token": this.token } });
  }

  has(): boolean {
    return true;
  }

  async ask(request: string): Promise<unknown> {
    let response: Response;
    try {
      response = await this.fetch(`/api/${request}`);
    } catch {
      throw new Refusal(0, "timesink no longer answers: it was ended, or the connection was.");
    }
    if (response.ok) return response.json();
    const body: unknown = await response.json().catch(() => null);
    const sentence = body !== null && typeof body === "object" && "error" in body ? String(body.error) : response.statusText;
    throw new Refusal(response.status, sentence);
  }
}

/** A loop of our own: `Uint8Array.from` asks for each sign by itself, which takes a frame and more for a large answer. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const signs = atob(base64);
  const bytes = new Uint8Array(signs.length);
  for (let at = 0; at < signs.length; at++) bytes[at] = signs.charCodeAt(at);
  return bytes;
}

/** The elements of a file that hold answers. */
export class FileSource implements Source {
  readonly isServed = false;
  private readonly elements = new Map<string, Element>();

  constructor(root: ParentNode) {
    for (const element of root.querySelectorAll("script[data-request]")) {
      const request = element.getAttribute("data-request");
      if (request !== null) this.elements.set(request, element);
    }
  }

  has(request: string): boolean {
    return this.elements.has(request);
  }

  async ask(request: string): Promise<unknown> {
    const element = this.elements.get(request);
    if (element === undefined) throw new Refusal(404, "This file does not hold that: open the recording with `timesink open`.");
    const stream = new Blob([bytesOf((element.textContent ?? "").trim())]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }
}
