/** Asks for a key: as a page of its own, or on top of a view whose session has ended. */
import { useEffect, useRef, useState } from "preact/hooks";
import { asApiError, signIn, type ApiError } from "./lib/api";
import type { Held } from "./lib/deeds";
import { href } from "./lib/store";
import { Button, Dialog, Field, Icon } from "./lib/ui";

const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

export function SignInPage() {
  return (
    <main class="sign-in">
      <div class="sign-in-card">
        <div class="sign-in-head">
          <span class="brand-mark"><Icon name="graph" size={20} /></span>
          <h1>Holdfast</h1>
          <p>See, understand and correct what your agent remembers.</p>
        </div>
        <SignInForm />
      </div>
    </main>
  );
}

/** The view comes back with what was typed there. `kept`: what is shown once and was not seen yet. */
export function SignInAgain({ kept }: { kept: readonly Held[] }) {
  return (
    <Dialog title="Sign in again" onClose={() => undefined} stubborn>
      <p class="dialog-words">Your session has ended, or the key was revoked. What you typed is still here.</p>
      {kept.map((each) => (
        <p key={each.title} class="notice warn"><Icon name="warning" /><span><a href={href(each.view, each.params)}>{each.title}</a> was not seen yet, and is lost when somebody else signs in.</span></p>
      ))}
      <SignInForm />
    </Dialog>
  );
}

function SignInForm() {
  const input = useRef<HTMLInputElement>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | string | null>(null);
  const [wait, setWait] = useState(0);
  useEffect(() => input.current?.focus(), []);
  useEffect(() => {
    if (wait <= 0) return;
    const timer = setTimeout(() => setWait(wait - 1), 1000);
    return () => clearTimeout(timer);
  }, [wait]);

  const submit = async (event: Event) => {
    event.preventDefault();
    const key = input.current?.value.trim() ?? "";
    if (!key) {
      setError("Paste a key first.");
      input.current?.focus();
      return;
    }
    setBusy(true);
    setError(null);
    try {
      await signIn(key);
      if (input.current) input.current.value = "";
    } catch (caught) {
      const found = asApiError(caught);
      setError(found);
      if (found.trouble === "busy") setWait(found.retryAfter ?? 5);
      input.current?.select();
    } finally {
      setBusy(false);
    }
  };

  const plain = location.protocol === "http:" && !LOOPBACK.has(location.hostname);
  return (
    <form class="sign-in-form" onSubmit={submit} autocomplete="off">
      <Field label="Key" error={error && wordsFor(error)} hint="Begins with rk_. It is sent once; a cookie stands for it for 12 hours.">
        {(id) => (
          <input
            id={id} ref={input} class="input mono" type="password" placeholder="rk_…" autocomplete="off"
            autocapitalize="off" spellcheck={false} maxLength={512} aria-invalid={error ? true : undefined}
          />
        )}
      </Field>
      {plain && (
        <p class="notice warn"><Icon name="warning" /> This connection is not encrypted: others in the network can read the key.</p>
      )}
      <Button kind="primary" type="submit" busy={busy} disabled={wait > 0} class="wide-button">
        {wait > 0 ? `Try again in ${wait} s` : "Sign in"}
      </Button>
      <p class="sign-in-help">
        No key yet? “holdfast serve” prints one when its store is new. Another, with the store that it was given:{" "}
        <code>holdfast keys create --role admin --db FILE</code>
      </p>
    </form>
  );
}

function wordsFor(error: ApiError | string): string {
  if (typeof error === "string") return error;
  if (error.status === 401) return "This key opens nothing: it is wrong, has expired or was revoked. Check that you copied all of it.";
  if (error.trouble === "gone") return `No server answers at ${location.host}. Is \`holdfast serve\` running? The key is still in the box.`;
  if (error.trouble === "slow") return "The server takes too long to answer. The key is still in the box: try again.";
  if (error.trouble === "busy") return `Too many tries at one time. ${error.message}`;
  if (error.status === 403) return `The server does not accept the name ${location.hostname}: add it to service.hosts, or open the page by its address.`;
  return error.message;
}
