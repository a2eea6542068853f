"""Texts of every kind that the estimator must know, written or generated here, and the real tokenizer."""

import base64
import json
import random

import pytest

from compactor.tokens.exact import Tokenizer

CHINESE = (
    "图书馆每天八点开门,晚上九点关门,节假日除外。进门之前请把手机调成静音,不要把食物和饮料带进阅览室。每位读者"
    "一次最多可以借五本书,借期为四个星期,如果没有别人预约,可以再延长两个星期。我们的服务器昨天晚上重启之后,定时"
    "任务一直没有运行,日志里也看不到任何报错。我先把配置文件恢复成原来的样子,再逐个检查环境变量,最后发现是时区"
    "设置不一致引起的。"
)
JAPANESE = (
    "図書館は毎日午前八時に開館し、夜九時に閉館します。入館の前に携帯電話をマナーモードにして、閲覧室には食べ物"
    "を持ち込まないでください。一度に借りられる本は五冊までで、期間は四週間です。昨夜サーバーを再起動してから、"
    "定期実行のジョブが動いていませんでした。設定ファイルを元に戻して環境変数を一つずつ調べたところ、タイムゾー"
    "ンの違いが原因だと分かりました。"
)
KOREAN = (
    "도서관은 매일 아침 여덟 시에 열고 밤 아홉 시에 닫습니다. 들어오기 전에 휴대전화를 무음으로 바꾸고 "
    "열람실에는 음식을 가져오지 마세요. 한 번에 다섯 권까지 빌릴 수 있으며 기간은 사 주입니다. 어젯밤 서버를 "
    "다시 시작한 뒤로 예약 작업이 실행되지 않았고 로그에도 오류가 없었습니다. 설정 파일을 되돌리고 환경 변수를 "
    "하나씩 살펴보니 시간대 설정이 서로 달랐습니다."
)
ARABIC = (
    "تفتح المكتبة أبوابها كل يوم في الساعة الثامنة صباحا وتغلق في التاسعة مساء ما عدا أيام العطل. يرجى إغلاق "
    "الهاتف قبل الدخول وعدم إحضار الطعام إلى قاعة القراءة. يمكن لكل قارئ أن يستعير خمسة كتب لمدة أربعة أسابيع. "
    "بعد إعادة تشغيل الخادم ليلة أمس توقفت المهام المجدولة عن العمل ولم يظهر أي خطأ في السجلات. أعدت ملف "
    "الإعدادات إلى حالته السابقة ثم وجدت أن المنطقة الزمنية مختلفة."
)
RUSSIAN = (
    "Библиотека открывается каждый день в восемь утра и закрывается в девять вечера, кроме праздников. Перед "
    "входом отключите звук телефона и не приносите еду в читальный зал. За один раз можно взять не больше пяти "
    "книг на четыре недели. После вчерашней перезагрузки сервера задания по расписанию не выполнялись, а в "
    "журнале не было ошибок. Оказалось, что часовые пояса не совпадали."
)
ENGLISH = (
    "This morning I walked to the market and bought fresh vegetables and some fruit. The woman at the stall "
    "told me that the weather had been hot for days and that the melons were unusually sweet. Back home I "
    "listened to music while I cooked lunch, then called a friend who lives in another city. Please look at "
    "the login module of this project. Users report that after entering the right password the page sometimes "
    "shows an error, and that reloading it a few times lets them in. I suspect that sessions expire too early, "
    "or that the cache isn't refreshed in time. Don't touch the structure of the database."
)
PYTHON = '''
class SessionStore:
    """Keeps sessions in memory until they expire."""

    def __init__(self, lifetime: float = 3600.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._lifetime = lifetime
        self._clock = clock
        self._sessions: dict[str, Session] = {}

    def open(self, user_id: int) -> str:
        token = secrets.token_urlsafe(32)
        self._sessions[token] = Session(user_id=user_id, expires=self._clock() + self._lifetime)
        return token

    def user(self, token: str) -> int | None:
        session = self._sessions.get(token)
        if session is None or session.expires < self._clock():
            self._sessions.pop(token, None)
            return None
        return session.user_id

    def sweep(self) -> int:
        """Removes what has expired and says how many sessions that were."""
        now = self._clock()
        expired = [token for token, session in self._sessions.items() if session.expires < now]
        for token in expired:
            del self._sessions[token]
        return len(expired)
'''


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    """o200k, loaded once."""
    return Tokenizer("gpt-4o")


@pytest.fixture(scope="session")
def samples() -> dict[str, str]:
    """Kind -> text. None of these texts was used to fit the estimator's weights."""
    dice = random.Random(20_240_601)
    return {
        "chinese": CHINESE,
        "japanese": JAPANESE,
        "korean": KOREAN,
        "arabic": ARABIC,
        "russian": RUSSIAN,
        "english": ENGLISH,
        "python": PYTHON,
        "json": _json(dice, None),
        "indented json": _json(dice, 2),
        "logs": "\n".join(_log_line(dice) for _ in range(60)),
        "base64": base64.b64encode(dice.randbytes(3_000)).decode(),
        "hex": dice.randbytes(2_000).hex(),
    }


def _json(dice: random.Random, indent: int | None) -> str:
    rows = [
        {
            "id": dice.randrange(100_000),
            "name": dice.choice(["login page", "session store", "cache", "user table"]),
            "path": f"src/app/{dice.choice(['auth', 'views', 'models'])}/module_{dice.randrange(40)}.py",
            "active": dice.random() < 0.5,
            "score": round(dice.random() * 100, 2),
            "created_at": f"2026-03-{dice.randrange(10, 29)}T{dice.randrange(10, 24)}:15:{dice.randrange(10, 60)}Z",
        }
        for _ in range(25)
    ]
    return json.dumps(rows, indent=indent)


def _log_line(dice: random.Random) -> str:
    message = dice.choice(
        [
            f"GET /api/v1/users/{dice.randrange(10_000)} 200 {dice.randrange(900)}ms",
            f"cache miss for session {dice.getrandbits(32):08x}",
            f"retrying request after timeout, attempt {dice.randrange(5)}",
            f"connection from 10.0.{dice.randrange(256)}.{dice.randrange(256)} closed by peer",
        ]
    )
    level = dice.choice(["INFO", "WARNING", "ERROR", "DEBUG"])
    time = f"2026-03-{dice.randrange(10, 29)} 14:{dice.randrange(10, 60)}:07,{dice.randrange(100, 999)}"
    return f"{time} {level} app.server: {message}"
